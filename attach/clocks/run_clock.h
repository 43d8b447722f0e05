// How long threads have not run. The kernel notes when each thread last had a CPU (se.exec_start of
// /proc/TID/sched, readable by every user), in milliseconds of that CPU's own clock. That clock
// (rq_clock_task, kernel/sched/core.c) stops while a hypervisor takes the CPU away and, in kernels
// with CONFIG_IRQ_TIME_ACCOUNTING, during interrupts; /proc/stat shows both for each CPU. So the
// clocks of two CPUs differ, by minutes after days of uptime. The result here is the least possible
// time. If the possible times differ too much, a thread of ours runs on the thread's CPU for some
// 20 us to read its clock (visit_cpu.h); without that there is no result.
//
// When a thread last ran, by the clock of the CPU that it ran on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace oddrank::attach {

struct RunMoment {
  std::chrono::microseconds now{0};       // CLOCK_MONOTONIC, when the rest was read
  std::chrono::microseconds last_run{0};  // by the CPU's own clock (run_clock.h)
  int cpu = -1;                           // where it last ran; -1 if unknown
};

// Returns CLOCK_MONOTONIC.
inline std::chrono::microseconds monotonic_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

// What a CPU's clock may have left out, since boot.
struct CpuPauses {
  std::chrono::microseconds hard_interrupts{0};
  std::chrono::microseconds soft_interrupts{0};
  std::chrono::microseconds stolen{0};
};

// Parses /proc/stat, by CPU number; CPUs that are not online are zero.
std::vector<CpuPauses> parse_cpu_pauses(std::string_view text);

class RunClock {
 public:
  // `own`: of a thread that runs now, such as our own.
  RunClock(const RunMoment& own, std::vector<CpuPauses> pauses);
  // Reads the calling thread's. Returns nullopt if this kernel does not show it.
  static std::optional<RunClock> here();

  // Returns the least time for which the thread has not run, exact to about 10 ms; the possible
  // times differ by less than a second or a tenth. On our own CPU, whose clock is known, it is
  // exact. Returns nullopt if it is unknown.
  std::optional<std::chrono::microseconds> not_run_for(const RunMoment& thread) const;
  // Returns the same; visits the CPU if it is otherwise unknown, until all visits together have
  // taken 100 ms.
  std::optional<std::chrono::microseconds> find_not_run_for(const RunMoment& thread);
  // Returns the same after reading the thread's file; `cpu` is field 39 of its stat line.
  std::optional<std::chrono::microseconds> find_not_run_for(pid_t pid, pid_t tid, int cpu);

 private:
  // The time that a clock leaves out; depends on the kernel's configuration.
  enum class Without : std::uint8_t { kNothing, kStolen, kStolenAndInterrupts };

  CpuPauses pauses_of(int cpu) const;
  std::chrono::microseconds left_out(Without what, int cpu) const;
  // Returns by how much left_out() may be wrong, either way.
  std::chrono::microseconds inexact(Without what, int cpu) const;
  bool possible(Without what) const;
  // Returns what the clock of another CPU showed when a thread of ours was there.
  std::optional<RunMoment> moment_on(int cpu);

  RunMoment own_;
  std::vector<CpuPauses> pauses_;
  bool counts_interrupts_ = false;
  std::map<int, std::optional<RunMoment>> visited_;
  std::chrono::microseconds visiting_{0};  // how long all visits have taken
};

}  // namespace oddrank::attach
