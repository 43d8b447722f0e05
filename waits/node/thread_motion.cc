#include "waits/node/thread_motion.h"

#include <algorithm>
#include <cstdint>

namespace oddrank::waits {
namespace {

using snapshot::Frame;
using snapshot::Tables;
using snapshot::ThreadSample;
using snapshot::WaitOn;

constexpr std::uint64_t kCpuThatCountsUs = 50'000;  // counted in ticks of 10 ms
constexpr std::uint64_t kWakesThatCount = 3;
constexpr std::uint64_t kPreemptionsThatCount = 100;

// Compares functions, not lines or addresses: a loop moves within them.
bool same_functions(const ThreadSample& one, const ThreadSample& other, const Tables& tables) {
  const auto& left = tables.stack(one.stack).frames;
  const auto& right = tables.stack(other.stack).frames;
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&tables](const snapshot::FrameId a, const snapshot::FrameId b) {
                      const Frame& frame = tables.frame(a);
                      const Frame& same = tables.frame(b);
                      return frame.kind == same.kind && frame.function == same.function &&
                             frame.file == same.file;
                    });
}

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after - std::min(before, after);
}

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
        return same_functions(first, each, tables);
      });
  const std::uint64_t cpu_us = grown(first.cpu_us, last.cpu_us);
  if (cpu_us >= kCpuThatCountsUs) {
    return "used " + std::to_string(cpu_us / 1000) + " ms of CPU" +
           (stands  ? " in the same functions: it spins, or works at one place"
            : known ? ", its stack moved: it works"
                    : "");
  }
  // sched_yield() in a loop: if others want the CPU, the thread hardly gets any. One that sleeps in
  // its loop gives the CPU up by itself, more often than it is taken away.
  const std::uint64_t put_aside = grown(first.involuntary_switches, last.involuntary_switches);
  const std::uint64_t woke = grown(first.voluntary_switches, last.voluntary_switches);
  if (stands && put_aside >= kPreemptionsThatCount && put_aside > woke) {
    return "was put aside " + std::to_string(put_aside) +
           " times in the same functions: it spins, while others want the CPU";
  }
  if (stands && woke >= kWakesThatCount) {
    return "woke " + std::to_string(woke) + " times in the same functions: it polls";
  }
  return {};
}

}  // namespace oddrank::waits
