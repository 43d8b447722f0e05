// The system calls that a thread can block in, as data: the kind of each wait, and the arguments
// that name its object. Each machine has its own numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/machine.h"

namespace oddrank::waits {

// How to read the arguments, and what the thread waits for.
enum class SyscallKind : std::uint8_t {
  kOther = 0,   // only the name is known
  kFutex,       // address, op, value
  kFile,        // an operation on one fd: read, write, fsync, close, ...
  kIoctl,       // an operation of the driver behind one fd
  kSocket,      // recv, send, accept, connect on one fd
  kPoll,        // array of pollfd, count
  kSelect,      // count, three fd_sets
  kEpoll,       // one epoll fd
  kWait4,       // pid argument
  kWaitid,      // id type and id
  kVfork,       // until the child has called exec or exited
  kFlock,       // one fd
  kFcntl,       // one fd, command; a lock only for some commands
  kPath,        // a path string, relative to a directory fd if there is one
  kSleep,       // time only
  kRestarted,   // a call with a time limit that the kernel began again; which one is unknown
  kYield,       // runs
  kSignalWait,  // pause, sigsuspend, sigtimedwait
  kSemaphore,   // semaphores of System V, and message queues
};

struct SyscallInfo {
  std::int32_t number = -1;
  std::string_view name;
  SyscallKind kind = SyscallKind::kOther;
  int fd_argument = -1;       // index of the argument that is an fd; -1 = none
  int path_argument = -1;     // index of the argument that points to a path; -1 = none
  int timeout_argument = -1;  // see timeout_is_pointer; -1 = it has none
  // True: a null pointer means no limit. False: a negative number of milliseconds does.
  bool timeout_is_pointer = true;
};

// Sorted by number.
std::span<const SyscallInfo> syscall_table(Machine machine = kOurMachine);

// Finds a system call; nullptr if the table does not have the number.
const SyscallInfo* find_syscall(std::int64_t number, Machine machine = kOurMachine);

// Returns "read"; "system call 999" if the table has no name; "" for -1.
std::string syscall_name(std::int64_t number, Machine machine = kOurMachine);

}  // namespace oddrank::waits
