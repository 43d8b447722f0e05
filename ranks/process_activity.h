// Activity that shows whether a process is a rank: whether it has loaded a communication library,
// whether it only waits for its child, and which session of Ray it is a driver of. Read only if a
// choice depends on the process (wrappers.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/target.h"

namespace oddrank::ranks {

enum class Activity : std::uint8_t {
  kUnknown = 0,    // not read
  kWorks,          // some thread runs, or waits for something not listed below
  kIdle,           // all threads sleep: in poll, epoll, a futex, a pipe, on a clock
  kWaitsForChild,  // the same, and one thread waits for a child, or a file that reports a child's
                   // exit
};

struct ProcessActivity {
  Activity activity = Activity::kUnknown;
  bool communicates = false;  // has a communication library mapped
};

// Returns whether a library is mapped through which ranks communicate
// (snapshot/libraries/known_libraries.h).
bool communicates(const attach::MemoryMap& maps);

// Returns the same for a process. Takes its mmap lock, like read_activity.
bool communicates(pid_t pid);

// Judges the threads of one process. `child_files`: it has a file open by which the kernel reports
// a child's exit (pidfd, signalfd).
Activity activity_of(const std::vector<attach::ThreadState>& threads, bool child_files);

// Reads /proc/PID. Takes the target's mmap lock, so call it in a child with a deadline
// (base/isolated.h). If something may not be read, it stays kUnknown or false. Takes 2 ms for a
// PyTorch process.
ProcessActivity read_activity(pid_t pid);

// Returns the session of Ray that writes this file: "session_1" of
// "/tmp/ray/session_1/logs/python-core-driver-01_5.log"; "" if it is no log of a driver.
std::string ray_session_of_log(std::string_view path);

// Returns the session of which the process is a driver, by its open files; "" if it is none.
std::string ray_session_of(pid_t pid);

}  // namespace oddrank::ranks
