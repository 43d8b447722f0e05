// How many bytes each process has written and read while it was sampled: files, pipes and
// terminals, and sockets by write() and read() (not send() and recv()). A process that polls writes
// nothing; one that produces what others wait for does.
//
// Source: "wchar" and "rchar" of /proc/PID/io (Linux 2.6.20 and later, with
// CONFIG_TASK_IO_ACCOUNTING).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string_view>

#include "base/isolated.h"
#include "snapshot/capture.h"

namespace oddrank::waits {

struct IoBytes {
  std::int64_t written = -1;  // -1: unknown
  std::int64_t read = -1;

  bool operator==(const IoBytes&) const = default;
};

// Parses the text of /proc/PID/io.
IoBytes parse_io(std::string_view io);

// Reads the counts of the capture's processes, beginning with its construction; in a child, since
// the kernel may wait for a process that is in execve().
class WrittenBytes {
 public:
  explicit WrittenBytes(const snapshot::Capture& capture);
  // Returns the counts by pid that could be read in time. Call once.
  std::map<pid_t, IoBytes> finish();

 private:
  PendingTask task_;
};

// Sets ProcessCapture::written_bytes and read_bytes. `before`: counts from before the first sample;
// `after`: from after the last.
void set_written_bytes(const std::map<pid_t, IoBytes>& before,
                       const std::map<pid_t, IoBytes>& after,
                       snapshot::Capture& capture);

}  // namespace oddrank::waits
