// The threads of a process as /proc/PID/task shows them, without stopping any: state, what it waits
// in, and for a blocked thread the stack pointer and program counter with which it went to sleep.
//
// The values are not from one instant: the switch counters, read twice, show whether a thread
// moved.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/target.h"
#include "base/result.h"

namespace oddrank::attach {

// What /proc/TID/syscall shows. Both empty: the thread runs.
struct BlockedIn {
  std::optional<SyscallState> syscall;
  std::optional<Registers> registers;  // pc and sp only
};

// Parses "running", "-1 SP PC", or "NR A0 A1 A2 A3 A4 A5 SP PC"; kBadData for anything else. A
// thread that is exiting has neither sp nor pc: no registers.
Result<BlockedIn> parse_proc_syscall(std::string_view text);

// Returns the thread ids, ascending, but the main thread first even if the pid namespace has
// wrapped round. Fails with kGone if the process does not exist.
Result<std::vector<pid_t>> read_tids(pid_t pid);

// Reads the thread; fields that may not be read stay empty. Fails with kGone if the thread has
// exited.
Result<ThreadState> read_thread_state(pid_t pid, pid_t tid);

}  // namespace oddrank::attach
