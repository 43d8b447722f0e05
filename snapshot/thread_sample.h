// What was read of one thread in one sample.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

// One sample of a thread. The kernel's counters count from the thread's start.
struct ThreadSample {
  StackId stack{};           // merged, or native if the merge failed
  StackId python_stack{};    // only if stack's merge is kMismatch
  std::uint64_t cpu_us = 0;  // user + system time
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  char state = '?';  // letter of /proc/TID/stat: R S D T t Z X I
  // It has run and advanced since the previous sample, though it is in the same functions: locals
  // of its Python frames differ, or the other sides of its transfer (snapshot/locals_change.h).
  bool locals_changed = false;
  // It makes the same request again, because the one of the previous sample failed
  // (snapshot/locals_change.h). So it was not further back then, wherever it was.
  bool retried = false;
  // It was stopped to be read, and released at once; that wakes a sleeping thread twice.
  bool stopped = false;  // kSwitchesOfStop
  pid_t tracer =
      0;  // the process that traces it, in the agent's pid namespace; 0 = none or unknown
  StringId tracer_name{};  // comm of that process

  // Returns the stack with the Python frames, which rows about frames index: the merged one, or
  // python_stack if the two do not match.
  StackId python_frames() const { return python_stack != StackId{} ? python_stack : stack; }

  bool operator==(const ThreadSample&) const = default;
};

// Returns whether a signal or a tracer has stopped the thread.
constexpr bool is_stopped_state(char state) {
  return state == 'T' || state == 't';
}

// A stop wakes a sleeping thread, which goes back to sleep when it is released.
inline constexpr std::uint64_t kSwitchesOfStop = 2;

// What a thread did between two samples, by the kernel's counts.
struct Ran {
  bool at_all = false;
  std::uint64_t cpu_us = 0;
  std::uint64_t wakes = 0;  // it slept, and went on
  std::uint64_t preemptions = 0;
};

// Returns it from the earlier and the later sample; 0 for counts that fell.
inline Ran ran_between(const ThreadSample& a, const ThreadSample& b) {
  const auto grown = [](std::uint64_t before, std::uint64_t after) {
    return after - std::min(before, after);
  };
  return {a.voluntary_switches != b.voluntary_switches ||
              a.involuntary_switches != b.involuntary_switches || a.cpu_us != b.cpu_us,
          grown(a.cpu_us, b.cpu_us), grown(a.voluntary_switches, b.voluntary_switches),
          grown(a.involuntary_switches, b.involuntary_switches)};
}

}  // namespace oddrank::snapshot
