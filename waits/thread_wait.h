// What one thread is blocked on, as text: the working form of snapshot::Wait, before its strings go
// into the tables of a capture.
//
// The inputs of the readers of a thread's wait: the target, its threads, and the kernel's data on
// its files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"
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

// The kernel's data on the files of a process, and on other processes. Every result may be empty:
// not permitted, no longer open, or not provided by a test.
class ProcessFiles {
 public:
  ProcessFiles() = default;
  ProcessFiles(const ProcessFiles&) = delete;
  ProcessFiles& operator=(const ProcessFiles&) = delete;
  ProcessFiles(ProcessFiles&&) = delete;
  ProcessFiles& operator=(ProcessFiles&&) = delete;
  virtual ~ProcessFiles() = default;

  virtual std::string link(int fd) const = 0;  // "/data/x", "pipe:[123]", "anon_inode:[eventfd]"
  virtual std::string folder() const { return {}; }  // the working folder; "" = unknown
  virtual std::string info(int fd) const = 0;        // text of /proc/PID/fdinfo/FD
  virtual std::string locked_files() const = 0;      // text of /proc/locks
  virtual std::string mounts() const { return {}; }  // text of /proc/PID/mountinfo
  // freezer.state of the process's cgroup of version 1: "FROZEN".
  virtual std::string freezer() const { return {}; }
  // Returns the time of a clock of the target's machine; 0 = unknown.
  virtual std::uint64_t clock_us(clockid_t /*clock*/) const { return 0; }
  // Returns the process of any thread, in our pid namespace; 0 if there is no such thread.
  virtual pid_t process_of_thread(pid_t /*tid*/) const { return 0; }
};

// Everything that the readers of one wait may use. Borrows; valid for one call.
struct WaitContext {
  const attach::Target& target;
  const ProcessFiles& files;
  const std::vector<attach::ThreadState>& threads;  // of the same process, for owners of locks
  const attach::ThreadState& thread;
};

}  // namespace oddrank::waits
