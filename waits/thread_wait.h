// What one thread is blocked on, as text: the working form of snapshot::Wait, before its strings go
// into the tables of a capture.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/tables.h"
#include "snapshot/wait.h"
#include "waits/awaited_files.h"

namespace oddrank::waits {

struct ThreadWait {
  snapshot::WaitOn on = snapshot::WaitOn::kUnknown;
  std::int32_t syscall = -1;
  std::string syscall_name;
  std::string wchan;
  std::int32_t fd = -1;
  std::string path;
  std::uint64_t address = 0;
  pid_t holder_pid = 0;
  pid_t holder_tid = 0;
  snapshot::Known holder_alive = snapshot::Known::kUnknown;
  bool inferred = false;  // the holder was inferred from frames
  snapshot::WaitHow how = snapshot::WaitHow::kDescribed;
  bool limited = false;
  std::int64_t limit_ms = -1;
  snapshot::LockFacts lock;
  std::vector<NamedFile> awaited;  // to_capture() takes the first few (listed_files)
  std::uint64_t awaited_count = 0;
  std::uint64_t awaited_ends = 0;
  bool own_wakers = false;
  pid_t feeds_loop = 0;
  bool tells_wchan = false;       // `detail` names the kernel function
  std::vector<std::string> kept;  // as RareWaitFacts::kept: "socket:[31]"
  std::string key;
  snapshot::AskedObjects asked;
  std::string detail;
  std::string notes;
};

// Returns the wait with its texts in the tables.
snapshot::Wait to_capture(const ThreadWait& from, snapshot::Tables& tables);

}  // namespace oddrank::waits
