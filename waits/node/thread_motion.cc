#include "waits/node/thread_motion.h"

#include <algorithm>
#include <cstdint>

#include "attach/clocks/run_clock.h"
#include "attach/proc_stat.h"

namespace oddrank::waits {

using std::chrono::milliseconds;

namespace {

using snapshot::Tables;
using snapshot::ThreadSample;
using snapshot::WaitOn;

// At least this much shows what a thread does; less shows only that it moved.
constexpr std::uint64_t kCpuOfWorkUs = 50'000;  // counted in ticks of 10 ms
constexpr std::uint64_t kWakesOfPoll = 3;
constexpr std::uint64_t kPreemptionsOfSpin = 100;

}  // namespace

std::string motion_words(const snapshot::ThreadCapture& thread, const Tables& tables) {
  const auto& samples = thread.samples;
  const bool unexplained = thread.wait.on == WaitOn::kNothing || thread.wait.on == WaitOn::kUnknown;
  if (samples.size() < 2 || !unexplained) {
    return {};
  }
  const ThreadSample& first = samples.front();
  const ThreadSample& last = samples.back();
  const bool known = std::all_of(samples.begin(), samples.end(), [&](const ThreadSample& each) {
    return !tables.stack(each.stack).frames.empty();
  });
  const bool stands =
      known && std::all_of(samples.begin(), samples.end(), [&](const ThreadSample& each) {
        return tables.same_functions(tables.stack(first.stack).frames,
                                     tables.stack(each.stack).frames);
      });
  const snapshot::Ran ran = snapshot::ran_between(first, last);
  if (ran.cpu_us >= kCpuOfWorkUs) {
    return "used " + std::to_string(ran.cpu_us / 1000) + " ms of CPU" +
           (stands  ? " in the same functions: it spins, or works at one place"
            : known ? ", its stack moved: it works"
                    : "");
  }
  // sched_yield() in a loop: if others want the CPU, the thread hardly gets any. One that sleeps in
  // its loop gives the CPU up by itself, more often than it is taken away.
  if (stands && ran.preemptions >= kPreemptionsOfSpin && ran.preemptions > ran.wakes) {
    return "was put aside " + std::to_string(ran.preemptions) +
           " times in the same functions: it spins, while others want the CPU";
  }
  if (stands && ran.wakes >= kWakesOfPoll) {
    return "woke " + std::to_string(ran.wakes) + " times in the same functions: it polls";
  }
  return {};
}

QuietTimes read_quiet_times(pid_t pid, std::span<const attach::ThreadState> threads) {
  QuietTimes times;
  auto clock = attach::RunClock::here();
  if (!clock) {
    return times;
  }
  for (const attach::ThreadState& thread : threads) {
    const auto stat = attach::read_thread_stat(pid, thread.tid);
    if (!stat || stat->state == 'R') {
      continue;
    }
    if (const auto quiet = clock->find_not_run_for(pid, thread.tid, stat->cpu)) {
      times.emplace(thread.tid, std::chrono::duration_cast<milliseconds>(*quiet));
    }
  }
  return times;
}

void keep_quiet_times(const QuietTimes& before, snapshot::ProcessCapture& process) {
  for (snapshot::ThreadCapture& thread : process.threads) {
    if (thread.samples.empty() || !thread.samples.back().stopped ||
        thread.samples.back().state == 'R') {
      continue;
    }
    const auto known = before.find(thread.tid);
    thread.wait.quiet_ms = known == before.end() ? -1 : known->second.count();
  }
}

}  // namespace oddrank::waits
