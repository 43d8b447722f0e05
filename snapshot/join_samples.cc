#include "snapshot/join_samples.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "snapshot/locals_change.h"
#include "snapshot/loops/named_loop.h"

namespace oddrank::snapshot {
namespace {

// Restores how long a thread has slept if it woke only because the earlier sample stopped it.
void restore_quiet(const ThreadCapture& earlier, std::int64_t between_ms, ThreadCapture& later) {
  if (earlier.samples.empty() || later.samples.empty() || earlier.wait.quiet_ms < 0 ||
      between_ms < 0) {
    return;
  }
  const ThreadSample& then = earlier.samples.back();
  const ThreadSample& now = later.samples.front();
  if (then.stopped && now.state == 'S' && then.stack == now.stack &&
      ran_between(then, now).wakes <= kSwitchesOfStop) {
    later.wait.quiet_ms = std::max(later.wait.quiet_ms, earlier.wait.quiet_ms + between_ms);
  }
}

// Returns the end of the rows, from `first` on, that are of the same activation.
template <typename Row>
Row end_of_frame(Row first, Row end) {
  return std::find_if(first, end,
                      [first](const PythonLoop& one) { return one.frame != first->frame; });
}

// Returns whether both threads are in these functions from the frames on outwards. Native frames do
// not count: if a thread runs, its sample may have none.
bool is_same_activation(const Tables& tables,
                        const ThreadCapture& a,
                        std::uint32_t frame_a,
                        const ThreadCapture& b,
                        std::uint32_t frame_b) {
  const auto& of_a = tables.stack(a.samples.back().python_frames()).frames;
  const auto& of_b = tables.stack(b.samples.back().python_frames()).frames;
  const auto next = [&tables](const auto& frames, std::size_t at) {
    while (at < frames.size() && tables.frame(frames[at]).kind != FrameKind::kPython) {
      ++at;
    }
    return at;
  };
  std::size_t i = next(of_a, frame_a);
  std::size_t j = next(of_b, frame_b);
  bool any = false;
  while (i < of_a.size() && j < of_b.size()) {
    const Frame& x = tables.frame(of_a[i]);
    const Frame& y = tables.frame(of_b[j]);
    if (x.function != y.function || x.file != y.file) {
      return false;
    }
    any = true;
    i = next(of_a, i + 1);
    j = next(of_b, j + 1);
  }
  return any && i >= of_a.size() && j >= of_b.size();
}

bool has_same_calls(const PythonLoop& a, const PythonLoop& b) {
  return !a.calls.empty() &&
         std::ranges::equal(a.calls, b.calls, {}, &LoopCall::name, &LoopCall::name);
}

// Notes which calls of the loop act on another object now.
void keep_first_objects(const PythonLoop& before, PythonLoop& now) {
  for (std::size_t i = 0; i < std::min(before.calls.size(), now.calls.size()); ++i) {
    const LoopCall& then = before.calls[i];
    LoopCall& call = now.calls[i];
    if (then.name == call.name) {
      const bool known = then.object != StringId{} && call.object != StringId{};
      call.moves_on = then.moves_on || (known && then.object != call.object);
    }
  }
}

// Keeps, beside the number of items that each loop has left now, the number it had left before.
// Loops of one function may make the same calls, so they are matched by their order, from the
// outermost on. If the thread has entered or left an inner loop, loops that make no calls may be
// matched wrongly.
void keep_first_of_loops(const Tables& tables,
                         std::int64_t between_ms,
                         const ThreadCapture& earlier,
                         ThreadCapture& later) {
  if (earlier.samples.empty() || later.samples.empty()) {
    return;
  }
  const auto& before = earlier.loops;
  auto& now = later.loops;
  for (auto first = now.begin(); first != now.end();) {
    const auto end = end_of_frame(first, now.end());
    auto then = std::find_if(before.begin(), before.end(), [&](const PythonLoop& one) {
      return is_same_activation(tables, earlier, one.frame, later, first->frame);
    });
    const auto last = then == before.end() ? then : end_of_frame(then, before.end());
    const auto more = (end - first) - (last - then);  // loops that it has entered meanwhile
    first += std::clamp<std::ptrdiff_t>(more, 0, end - first);
    then += std::clamp<std::ptrdiff_t>(-more, 0, last - then);
    for (; first != end; ++first, ++then) {
      const PythonLoop& same = *then;
      if (more != 0 && !has_same_calls(same, *first)) {
        continue;
      }
      keep_first_objects(same, *first);
      if (first->left >= 0 && same.left >= first->left &&
          same.calls.size() == first->calls.size()) {
        const bool known = same.left_before >= 0;
        first->left_before = known ? same.left_before : same.left;
        first->between_ms = (known ? same.between_ms : 0) + between_ms;
      }
    }
  }
}

bool rests(const Tables& tables, const ThreadCapture& thread) {
  return thread.wait.how == WaitHow::kClock || sleeps(thread, tables);
}

// If a thread asks for something, rests and asks again, it is chance which of the two a sample
// finds. The place where it asks says more, so the thread is kept there. Returns whether it was.
bool keep_where_it_asked(const Tables& tables, ThreadCapture& earlier, const ThreadCapture& later) {
  if (later.samples.size() != 1 || !later.samples.front().retried || !rests(tables, later) ||
      rests(tables, earlier) || earlier.wait.on == WaitOn::kNothing) {
    return false;
  }
  const ThreadSample& now = later.samples.front();
  ThreadSample sample = earlier.samples.back();
  sample.cpu_us = now.cpu_us;
  sample.voluntary_switches = now.voluntary_switches;
  sample.involuntary_switches = now.involuntary_switches;
  sample.retried = true;
  sample.locals_changed = now.locals_changed;
  earlier.samples.push_back(sample);
  return true;
}

void append_thread(const Tables& tables,
                   std::int64_t between_ms,
                   ThreadCapture& earlier,
                   ThreadCapture later) {
  restore_quiet(earlier, between_ms, later);
  if (!later.samples.empty()) {
    ThreadSample& sample = later.samples.edit(0);
    const Advance advance = advance_between(tables, earlier, later);
    sample.retried = advance.retried;
    sample.locals_changed = advance.changed || other_sides_changed(earlier, later);
  }
  if (keep_where_it_asked(tables, earlier, later)) {
    return;
  }
  keep_first_of_loops(tables, between_ms, earlier, later);
  SampleList samples = std::move(earlier.samples);
  for (const ThreadSample& sample : later.samples) {
    samples.push_back(sample);
  }
  earlier = std::move(later);
  earlier.samples = std::move(samples);
}

struct Count {
  std::int64_t& first;
  std::int64_t& last;
};

// Keeps the first count that was read beside the last one. `mixed` counts are in objects that a
// thread's frames happen to hold, so they may be read in some samples only; other counts are
// missing for a reason. A first count is kept only if there is a second one, since a count that
// does not change proves something.
void keep_first_count(bool mixed, Count earlier, Count later) {
  if (!mixed || later.last >= 0) {
    later.first = earlier.first >= 0 || !mixed ? earlier.first : earlier.last;
    return;
  }
  const bool moved = earlier.first >= 0 && earlier.last > earlier.first;
  later.first = moved ? earlier.first : -1;
  later.last = earlier.last;
}

// MPI's communicators are found only while a thread's frames hold them. Adds those that only the
// earlier sample found, with counts that are unknown now.
void keep_communicators(const Tables& tables,
                        const ProcessCapture& earlier,
                        ProcessCapture& later) {
  for (const ProcessGroup& group : earlier.groups) {
    const auto same = std::find_if(later.groups.begin(), later.groups.end(),
                                   [&](const auto& one) { return one.name == group.name; });
    if (tables.text(group.backend) != "mpi" || same != later.groups.end()) {
      continue;
    }
    for (GroupCounter& counter : later.groups.emplace_back(group).counters) {
      counter.collectives = counter.transfers = -1;
    }
  }
}

// Keeps the numbers of the first sample beside the last ones.
void keep_first_numbers(ProcessCapture& earlier, ProcessCapture& later) {
  for (ProcessGroup& group : later.groups) {
    const auto same = std::find_if(earlier.groups.begin(), earlier.groups.end(),
                                   [&](const auto& one) { return one.name == group.name; });
    if (same == earlier.groups.end()) {
      continue;
    }
    for (GroupCounter& counter : group.counters) {
      const auto first =
          std::find_if(same->counters.begin(), same->counters.end(),
                       [&](const auto& one) { return one.backend == counter.backend; });
      if (first != same->counters.end()) {
        keep_first_count(counter.mixed, {first->collectives_before, first->collectives},
                         {counter.collectives_before, counter.collectives});
        keep_first_count(counter.mixed, {first->transfers_before, first->transfers},
                         {counter.transfers_before, counter.transfers});
      }
    }
  }
}

void drop_ended(const std::vector<bool>& lives, std::vector<ThreadCapture>& threads) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (lives[i] && kept++ != i) {
      threads[kept - 1] = std::move(threads[i]);
    }
  }
  threads.resize(kept);
}

}  // namespace

void append_samples(const Tables& tables, ProcessCapture& earlier, ProcessCapture later) {
  const auto between_ms = static_cast<std::int64_t>(later.read_us / 1000) -
                          static_cast<std::int64_t>(earlier.read_us / 1000);
  std::unordered_map<pid_t, std::size_t> known;
  for (std::size_t i = 0; i < earlier.threads.size(); ++i) {
    known.emplace(earlier.threads[i].tid, i);
  }
  const bool less = later.read < earlier.read;
  std::vector<ThreadCapture> threads = std::move(earlier.threads);
  std::vector<bool> lives(threads.size(), less);
  for (ThreadCapture& thread : later.threads) {
    const auto at = known.find(thread.tid);
    if (at == known.end()) {
      threads.push_back(std::move(thread));
      lives.push_back(true);
    } else {
      append_thread(tables, between_ms, threads[at->second], std::move(thread));
      lives[at->second] = true;
    }
  }
  drop_ended(lives, threads);
  if (less) {
    earlier.why = later.why;
    earlier.state = later.state;
    earlier.stopped = std::max(earlier.stopped, later.stopped);
    earlier.longest_stop_us = std::max(earlier.longest_stop_us, later.longest_stop_us);
    earlier.threads = std::move(threads);
    return;
  }
  keep_communicators(tables, earlier, later);
  keep_first_numbers(earlier, later);
  earlier = std::move(later);
  earlier.threads = std::move(threads);
}

}  // namespace oddrank::snapshot
