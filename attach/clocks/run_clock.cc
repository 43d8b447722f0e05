#include "attach/clocks/run_clock.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "attach/clocks/visit_cpu.h"
#include "attach/proc_task.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank::attach {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kMaxStatBytes = std::size_t{4} << 20;
// Between the start of the CPUs' clocks and of CLOCK_MONOTONIC: seconds of early boot.
constexpr microseconds kStartApart = std::chrono::seconds(10);
constexpr microseconds kApart = std::chrono::seconds(1);
// Stolen time is counted in ticks; it was seen to be 0.7% less than the time that the clock left
// out. We allow for 1%.
constexpr int kReportedInHundredths = 100;

microseconds of_ticks(std::string_view word) {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  constexpr std::int64_t kMaxTicks = std::int64_t{1} << 40;  // ticks; longer than any machine is up
  const auto ticks = parse_number<std::int64_t>(word).value_or(0);
  return microseconds(per_second <= 0 ? 0
                                      : std::clamp<std::int64_t>(ticks, 0, kMaxTicks) *
                                            (1'000'000 / per_second));
}

// Returns the calling thread's own moment.
std::optional<RunMoment> moment_here() {
  const pid_t tid = ::gettid();
  // We may be moved to another CPU at any moment; then we read again.
  for (int attempt = 0; attempt < 3; ++attempt) {
    RunMoment own;
    own.cpu = ::sched_getcpu();
    const auto last_run = read_proc_sched(::getpid(), tid).last_run;
    own.now = monotonic_now();
    if (!last_run) {
      return std::nullopt;
    }
    own.last_run = *last_run;
    if (own.cpu >= 0 && own.cpu == ::sched_getcpu()) {
      return own;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<CpuPauses> parse_cpu_pauses(std::string_view text) {
  // "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...", after a line for all, "cpu  ...".
  constexpr std::size_t kIrq = 6;
  constexpr std::size_t kSteal = 8;
  std::vector<CpuPauses> pauses;
  for (const std::string_view line : split(text, '\n')) {
    if (line.substr(0, 3) != "cpu") {
      break;  // they come first
    }
    const std::vector<std::string_view> words = split_blanks(line);
    const auto cpu = parse_number<std::size_t>(words.front().substr(3));
    if (!cpu || *cpu >= std::size_t{kMaxCpus} || words.size() <= kSteal) {
      continue;
    }
    pauses.resize(std::max(pauses.size(), *cpu + 1));
    pauses[*cpu] = {of_ticks(words[kIrq]), of_ticks(words[kIrq + 1]), of_ticks(words[kSteal])};
  }
  return pauses;
}

RunClock::RunClock(const RunMoment& own, std::vector<CpuPauses> pauses)
    : own_(own), pauses_(std::move(pauses)) {
  // Without CONFIG_IRQ_TIME_ACCOUNTING the tick does the counting, and never sees hard interrupts,
  // which delay it. With it, every machine has counted some.
  counts_interrupts_ = std::any_of(pauses_.begin(), pauses_.end(), [](const CpuPauses& each) {
    return each.hard_interrupts > microseconds(0);
  });
}

std::optional<RunClock> RunClock::here() {
  const auto text = read_file("/proc/stat", kMaxStatBytes);
  const auto own = text ? moment_here() : std::nullopt;
  return own ? std::optional(RunClock(*own, parse_cpu_pauses(*text))) : std::nullopt;
}

CpuPauses RunClock::pauses_of(int cpu) const {
  const auto at = static_cast<std::size_t>(cpu);
  return cpu < 0 || at >= pauses_.size() ? CpuPauses() : pauses_[at];
}

microseconds RunClock::left_out(Without what, int cpu) const {
  if (what == Without::kNothing) {
    return microseconds(0);
  }
  const CpuPauses pauses = pauses_of(cpu);
  return what == Without::kStolen ? pauses.stolen
                                  : pauses.stolen + pauses.hard_interrupts + pauses.soft_interrupts;
}

microseconds RunClock::inexact(Without what, int cpu) const {
  return what == Without::kNothing ? microseconds(0)
                                   : pauses_of(cpu).stolen / kReportedInHundredths;
}

// Clocks that leave out nothing else start with CLOCK_MONOTONIC.
bool RunClock::possible(Without what) const {
  if (what == Without::kStolenAndInterrupts && !counts_interrupts_) {
    return false;
  }
  const microseconds apart = own_.now - own_.last_run - left_out(what, own_.cpu);
  return std::chrono::abs(apart) <= kStartApart + inexact(what, own_.cpu);
}

std::optional<microseconds> RunClock::not_run_for(const RunMoment& thread) const {
  if (thread.cpu < 0) {
    return std::nullopt;
  }
  const microseconds by_own_clock = own_.last_run + (thread.now - own_.now) - thread.last_run;
  if (thread.cpu == own_.cpu) {
    return by_own_clock < microseconds(0) ? std::nullopt : std::optional(by_own_clock);
  }
  std::optional<microseconds> least;
  std::optional<microseconds> most;
  for (const Without what : {Without::kNothing, Without::kStolen, Without::kStolenAndInterrupts}) {
    if (!possible(what)) {
      continue;
    }
    const microseconds answer =
        by_own_clock + left_out(what, own_.cpu) - left_out(what, thread.cpu);
    const microseconds error = inexact(what, own_.cpu) + inexact(what, thread.cpu);
    least = std::min(least.value_or(answer), answer - error);
    most = std::max(most.value_or(answer), answer + error);
  }
  if (!least || *most < microseconds(0) || *most - *least > std::max(kApart, *least / 10)) {
    return std::nullopt;
  }
  return std::max(*least, microseconds(0));
}

std::optional<RunMoment> RunClock::moment_on(int cpu) {
  constexpr auto kPatience = std::chrono::milliseconds(20);
  constexpr auto kMaxVisiting = std::chrono::milliseconds(100);
  const auto [found, first] = visited_.try_emplace(cpu);
  if (first && visiting_ < kMaxVisiting) {
    const microseconds began = monotonic_now();
    std::optional<RunMoment> moment;
    if (visit_cpu(cpu, kPatience, [&moment] { moment = moment_here(); }) && moment &&
        moment->cpu == cpu) {
      found->second = moment;
    }
    visiting_ += monotonic_now() - began;
  }
  return found->second;
}

std::optional<microseconds> RunClock::find_not_run_for(const RunMoment& thread) {
  const auto known = not_run_for(thread);
  if (known || thread.cpu < 0 || thread.cpu == own_.cpu) {
    return known;
  }
  const auto there = moment_on(thread.cpu);
  return there ? RunClock(*there, {}).not_run_for(thread) : std::nullopt;
}

std::optional<microseconds> RunClock::find_not_run_for(pid_t pid, pid_t tid, int cpu) {
  const auto last_run = read_proc_sched(pid, tid).last_run;
  return last_run ? find_not_run_for({monotonic_now(), *last_run, cpu}) : std::nullopt;
}

}  // namespace oddrank::attach
