// The inputs of the readers of a thread's wait: the target, its threads, and the kernel's data on
// its files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"

namespace oddrank::waits {

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
