// What one thread is blocked on, as text: the working form of snapshot::Wait, before its strings go
// into the tables of a capture.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"
#include "waits/ends/awaited_files.h"

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
  bool inferred = false;  // the holder was concluded from frames
  snapshot::WaitHow how = snapshot::WaitHow::kTold;
  bool limited = false;
  std::int64_t limit_ms = -1;
  snapshot::LockFacts lock;
  std::vector<NamedFile> awaited;
  std::uint64_t awaited_count = 0;
  bool own_wakers = false;
  bool tells_wchan = false;  // `detail` does, of the kernel function
  std::string detail;
  std::string notes;
};

snapshot::Wait to_capture(const ThreadWait& from, snapshot::Tables& tables);

// What the kernel tells about the files of a process, and about processes beside it. Every answer
// may be empty: not permitted, not open any more, or a test that has none.
class ProcessFiles {
 public:
  ProcessFiles() = default;
  ProcessFiles(const ProcessFiles&) = delete;
  ProcessFiles& operator=(const ProcessFiles&) = delete;
  ProcessFiles(ProcessFiles&&) = delete;
  ProcessFiles& operator=(ProcessFiles&&) = delete;
  virtual ~ProcessFiles() = default;

  virtual std::string link(int fd) const = 0;    // "/data/x", "pipe:[123]", "anon_inode:[eventfd]"
  virtual std::string info(int fd) const = 0;    // text of /proc/PID/fdinfo/FD
  virtual std::string locked_files() const = 0;  // text of /proc/locks
  virtual std::string mounts() const { return {}; }  // text of /proc/PID/mountinfo
  // freezer.state of the process's cgroup of version 1: "FROZEN".
  virtual std::string freezer() const { return {}; }
  // The process of any thread, in our pid namespace; 0 if there is no such thread.
  virtual pid_t process_of_thread(pid_t /*tid*/) const { return 0; }
};

// All that the readers of one wait may look at. Borrows; valid for one call.
struct WaitContext {
  const attach::Target& target;
  const ProcessFiles& files;
  const std::vector<attach::ThreadState>& threads;  // of the same process, for owners of locks
  const attach::ThreadState& thread;
};

// Reads /proc's facts of the thread, follows the arguments of its system call into the target's
// memory and files. Never fails: what cannot be told stays unknown, with a detail that says why.
ThreadWait wait_of_thread(const WaitContext& context);

}  // namespace oddrank::waits
