// How many bytes each process has written and read while it was sampled: to files, pipes and
// terminals, and to sockets by write() (not by send()); likewise by read(). A process that asks for
// something again and again writes nothing; one that makes what others wait for does.
//
// Source: "wchar" and "rchar" of /proc/PID/io (Linux 2.6.20 and later, with
// CONFIG_TASK_IO_ACCOUNTING).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "snapshot/process_capture.h"

namespace oddrank::waits {

struct IoBytes {
  std::int64_t written = -1;  // -1: unknown
  std::int64_t read = -1;

  bool operator==(const IoBytes&) const = default;
};

// Parses the text of /proc/PID/io.
IoBytes parse_io(std::string_view io);

// Reads the counts of a process. The kernel may wait for a process that is in execve(): call it in
// a child (base/isolated.h).
IoBytes read_io(pid_t pid);

// The counts of processes when each was sampled first.
class FirstIo {
 public:
  // Call it once for each sample of a process. Its written_bytes and read_bytes, which are counts
  // since its start (-1: unknown), become counts since its first sample.
  void subtract_from(snapshot::ProcessCapture& sample);

 private:
  std::map<pid_t, IoBytes> first_;
};

}  // namespace oddrank::waits
