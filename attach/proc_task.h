// The threads of a process as /proc/PID/task shows them, without stopping any: state, what it waits
// in, and for a blocked thread the stack pointer and program counter with which it went to sleep.
//
// The values are not from one instant: the switch counters, read twice, show whether a thread
// moved.
//
// /proc/TID/sched: when a thread last had a CPU, and how often it gave one up. Every user may read
// it, even for a process in state D.
//
// Seen with Linux 6.18; the file has these lines since 2.6.23, in kernels with CONFIG_SCHED_DEBUG
// (all distributions; always since 6.15).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// The needed lines come within these bytes, even if the kernel adds statistics
// (kernel.sched_schedstats).
inline constexpr std::size_t kMaxSchedBytes = 4096;

struct ProcSched {
  // se.exec_start, by the clock of the CPU where it last ran, exact to a millisecond. nullopt if it
  // was moved to another CPU and has not run there yet (0).
  std::optional<std::chrono::microseconds> last_run;
  // The same counts as in the thread's status.
  std::optional<std::uint64_t> voluntary_switches;
  std::optional<std::uint64_t> involuntary_switches;
};

// Parses the text; missing lines leave their fields empty.
ProcSched parse_proc_sched(std::string_view text);

// Reads a thread's; empty if it may not be read.
ProcSched read_proc_sched(pid_t pid, pid_t tid);

}  // namespace oddrank::attach
