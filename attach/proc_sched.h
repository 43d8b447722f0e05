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
#include <string_view>

namespace oddrank::attach {

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
