#include "aggregate/view/decider.h"

#include <algorithm>
#include <optional>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"
#include "snapshot/loops/named_loop.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

namespace {

// Returns the number of the first sample since the thread last ran, if that was long ago: a rank
// that was seen to come to where it waits now has not moved since. At least two samples count, else
// all.
std::size_t first_that_counts(const ThreadCapture& thread) {
  const snapshot::SampleList& all = thread.samples;
  if (all.size() < 3 || thread.wait.quiet_ms < snapshot::kOldWaitMs || all.back().state == 'R') {
    return 0;
  }
  const std::size_t first = all.still_since();
  return all.size() - first >= 2 ? first : 0;
}

// A thread that sleeps in one futex for the whole window does not wake; one switch may come from
// the reading itself.
constexpr std::uint64_t kWakesThatCount = 2;
// Less than this is bookkeeping of the kernel, not work.
constexpr std::uint64_t kCpuThatCountsUs = 1000;

// Returns whether the thread is in a system call that returns only when something has come from
// another process, or the connection ends.
bool takes_what_comes(const snapshot::Wait& wait, const snapshot::Tables& tables) {
  const std::string_view call = tables.text(wait.syscall_name);
  return (wait.on == WaitOn::kSocket || wait.on == WaitOn::kPipe) && !wait.limited &&
         wait.how == snapshot::WaitHow::kDescribed &&
         (call == "read" || call == "recvfrom" || call == "recvmsg");
}

// Returns whether the frames of both samples that could be read differ, as far as `farthest`.
bool was_elsewhere(const snapshot::ThreadSample& before,
                   const snapshot::ThreadSample& after,
                   Reach farthest,
                   FrameModel& model) {
  if (before.stack == after.stack && before.python_stack == after.python_stack) {
    return false;
  }
  const Reach reach = std::min({model.reach(before), model.reach(after), farthest});
  const std::string was = model.place(before, reach);
  const std::string is = model.place(after, reach);
  return was != is && !was.empty() && !is.empty();
}

bool may_wait_for_thread(WaitOn on) {
  return on == WaitOn::kThread || on == WaitOn::kLock || on == WaitOn::kUnknown;
}

bool leads_on(WaitOn on) {
  return !may_wait_for_thread(on) && on != WaitOn::kGil;
}

// Returns whether another thread of the process may end the wait: it is for files, and the process
// itself makes one of them ready, as event loops are woken.
bool may_be_woken_by_own(const ProcessCapture& process, const ThreadCapture& thread) {
  const auto& awaited = thread.wait.rare->awaited;
  return thread.wait.how == snapshot::WaitHow::kFiles &&
         (thread.wait.rare->own_wakers || thread.wait.holder_pid == process.pid ||
          std::ranges::any_of(
              awaited, [&process](const auto& file) { return file.holder_pid == process.pid; }));
}

// Follows the main thread's wait for a lock: if the thread that owns the lock waits for something
// outside of the process, that wait decides. Inferred owners do not count, nor does a thread that
// just holds the GIL for its turn.
const ThreadCapture* end_of_locks(const ProcessCapture& process, const ThreadCapture& main) {
  const ThreadChain chain = follow_threads(process, main);
  const ThreadCapture& last = *chain.way.back();
  const bool turn = has_gil(chain.way) && last.wait.on == WaitOn::kNothing;
  return &last == &main || is_inferred(chain.way) || turn || !(last.call || leads_on(last.wait.on))
             ? nullptr
             : &last;
}

// Returns whether the thread runs collectives for the main thread. Background threads of a library
// are in its functions all the time; only a thread of the program, or autograd's, does so.
bool runs_for_main(const ThreadCapture& thread, FrameModel& model) {
  return thread.has_python || model.story(last_sample(thread), Story::kEngine).has_value();
}

// Returns whether its outermost loop only rests until the process tells it to end.
bool is_heartbeat(const ThreadCapture& thread, const FrameModel& model) {
  return !thread.loops.empty() &&
         snapshot::only_ticks(snapshot::named_loop(thread.loops.back(), model.tables()));
}

// Returns whether a coroutine waits for what the thread does.
bool works_for_task(const ProcessCapture& process, const ThreadCapture& thread) {
  return std::ranges::find(process.tasks, thread.tid, &snapshot::AsyncTask::worker) !=
         process.tasks.end();
}

// Returns the thread that does the program's work while its main thread is idle: one in a call
// first, else the first Python thread that is not idle itself; null if there is none.
const ThreadCapture* find_worker(const ProcessCapture& process, FrameModel& model) {
  const ThreadCapture* worker = nullptr;
  for (const ThreadCapture& thread : process.threads) {
    if (thread.tid == process.pid || thread.samples.empty() || !runs_for_main(thread, model)) {
      continue;
    }
    if (thread.call) {
      return &thread;
    }
    const auto frame = model.user_frame(thread.samples.back());
    const bool works =
        (frame && frame->user && !is_heartbeat(thread, model)) || works_for_task(process, thread);
    if (worker == nullptr && works && !waits_for_work(model, thread)) {
      worker = &thread;
    }
  }
  return worker;
}

// Returns the thread of a pool for whose work the last of the tasks waits for which the thread
// waits; null if it waits for none, or the last one for something else.
const ThreadCapture* find_pool_thread(const ProcessCapture& process,
                                      const ThreadCapture& thread,
                                      FrameModel& model) {
  const TaskWay way = tasks_awaited_by(model, process, thread);
  const pid_t tid = way.tasks.empty() ? 0 : way.tasks.back()->worker;
  const auto at = std::ranges::find(process.threads, tid, &ThreadCapture::tid);
  return tid == 0 || at == process.threads.end() || at->samples.empty() ? nullptr : &*at;
}

}  // namespace

bool sleeps_in(const ThreadCapture& thread,
               const snapshot::ThreadSample& sample,
               FrameModel& model) {
  return thread.wait.how == snapshot::WaitHow::kClock || model.story(sample, Story::kSleep);
}

bool sleeps_on_purpose(const ThreadCapture& thread, FrameModel& model) {
  return !thread.samples.empty() && thread.wait.on == WaitOn::kUnknown &&
         sleeps_in(thread, thread.samples.back(), model);
}

bool is_at_work(const ThreadCapture& thread, FrameModel& model) {
  return !thread.samples.empty() &&
         (thread.wait.on == WaitOn::kNothing || thread.samples.back().state == 'R' ||
          sleeps_on_purpose(thread, model));
}

const ThreadCapture* find_decider(const ProcessCapture& process, FrameModel& model) {
  const auto& threads = process.threads;
  if (threads.empty()) {
    return nullptr;
  }
  const ThreadCapture* main = main_thread(process);
  const ThreadCapture* decider = main == nullptr ? &threads.front() : main;
  if (!process.tasks.empty() && !task_circle(model, process, *decider).tasks.empty()) {
    return decider;
  }
  if (waits_for_work(model, *decider)) {
    const ThreadCapture* worker = find_pool_thread(process, *decider, model);
    worker = worker == nullptr ? find_worker(process, model) : worker;
    return worker == nullptr ? decider : worker;
  }
  if (decider->call || (leads_on(decider->wait.on) && !may_be_woken_by_own(process, *decider))) {
    return decider;
  }
  if (!follow_threads(process, *decider).circle.empty()) {
    return decider;
  }
  if (const ThreadCapture* last = end_of_locks(process, *decider)) {
    return last;
  }
  if (decider->wait.on == WaitOn::kGil) {
    return decider;
  }
  if (is_at_work(*decider, model)) {
    return decider;
  }
  // The only other thread with the object that the main thread waits at wins over a thread that is
  // in a call, perhaps for its own purposes.
  const ThreadCapture& provider = *follow_threads(process, *decider).way.back();  // no circle
  if (&provider != decider && is_at_work(provider, model)) {
    return decider;
  }
  if (provider.call && runs_for_main(provider, model)) {
    return &provider;
  }
  for (const ThreadCapture& thread : threads) {
    if (thread.call && runs_for_main(thread, model)) {
      return &thread;
    }
  }
  return decider;
}

bool reaps_child(const ThreadCapture& thread, const FrameModel& model) {
  return thread.wait.on == WaitOn::kChild &&
         model.tables().text(thread.wait.syscall_name).starts_with("wait");
}

bool keeps_waking(const ThreadCapture& thread) {
  const snapshot::SampleList& all = thread.samples;
  return all.size() >= 2 && snapshot::ran_between(all.front(), all.back()).wakes >= kWakesThatCount;
}

bool has_used_cpu(const ThreadCapture& thread) {
  const snapshot::SampleList& all = thread.samples;
  return !all.empty() && snapshot::ran_between(all.front(), all.back()).cpu_us >= kCpuThatCountsUs;
}

bool waits_to_try_again(const ThreadCapture& thread) {
  const auto looped = std::ranges::find_if(
      thread.places, [](const snapshot::FramePlace& place) { return !place.turns.empty(); });
  return looped != thread.places.end() && looped->retries() && thread.wait.on != WaitOn::kNothing &&
         thread.samples.back().state == 'S';
}

bool keeps_resting(const ThreadCapture& thread, FrameModel& model) {
  const snapshot::SampleList& all = thread.samples;
  if (thread.has_python || thread.call || all.size() < 2) {
    return false;
  }
  const bool wakes = keeps_waking(thread);
  const auto rests = std::ranges::count_if(all, [&](const snapshot::ThreadSample& sample) {
    return model.story(sample, Story::kYields) || (wakes && model.story(sample, Story::kSleep));
  });
  return 2 * static_cast<std::size_t>(rests) >= all.size();
}

bool stays_in_function(const ThreadCapture& thread, FrameModel& model) {
  std::optional<ShownFrame> first;
  for (const snapshot::ThreadSample& sample : thread.samples) {
    const std::optional<ShownFrame> frame = model.user_frame(sample);
    if (!frame || (first && (frame->name != first->name || frame->file != first->file))) {
      return false;
    }
    first = frame;
  }
  return first.has_value();
}

SlimVector<const ThreadCapture*> find_beside(const ProcessCapture& process,
                                             const ThreadCapture& decider,
                                             FrameModel& model) {
  SlimVector<const ThreadCapture*> beside;
  for (const ThreadCapture& thread : process.threads) {
    if (thread.call && &thread != &decider && runs_for_main(thread, model)) {
      beside.push_back(&thread);
    }
  }
  return beside;
}

bool waits_for_standing_pool(const ThreadCapture& thread,
                             const SlimVector<const snapshot::ProcessCapture*>& children,
                             FrameModel& model) {
  if (thread.call || thread.wait.rare->about != snapshot::WaitAbout::kPool || children.empty()) {
    return false;
  }
  return std::ranges::all_of(children, [&](const auto* child) {
    const ThreadCapture* decider = is_dead(*child) ? nullptr : find_decider(*child, model);
    if (decider == nullptr) {
      return false;
    }
    const Motion motion = measure_motion(*decider, model);
    return motion.measured && !motion.stack && !motion.locals && !motion.woke;
  });
}

bool has_begun_since(const ProcessCapture& process, const ThreadCapture& thread) {
  const auto most = std::ranges::max_element(process.threads, [](const auto& a, const auto& b) {
    return a.samples.size() < b.samples.size();
  });
  return most != process.threads.end() && thread.samples.size() < most->samples.size() &&
         thread.wait.quiet_ms < snapshot::kOldWaitMs;
}

Motion measure_motion(const ThreadCapture& thread, FrameModel& model) {
  Motion motion;
  const snapshot::SampleList& samples = thread.samples;
  const std::size_t first_at = first_that_counts(thread);
  motion.settled = first_at > 0;
  motion.measured = samples.size() >= 2;
  if (!motion.measured) {
    return motion;
  }
  // A polling library is at another instruction each time, and still waits. A library that makes a
  // communicator goes through stages, which count as motion.
  const bool in_library = (thread.call && thread.call->kind != CallKind::kRendezvous) ||
                          thread.wait.on == WaitOn::kDevice;
  const Reach farthest = in_library && thread.has_python ? Reach::kPython : Reach::kWhole;
  for (std::size_t at = first_at + 1; at < samples.size(); ++at) {
    motion.stack = motion.stack || (!samples[at].retried &&
                                    was_elsewhere(samples[at - 1], samples[at], farthest, model));
    motion.locals = motion.locals || samples[at].locals_changed;
  }
  const auto& first = samples[first_at];
  const auto& last = samples.back();
  const snapshot::Ran ran = snapshot::ran_between(first, last);
  motion.cpu_us = ran.cpu_us;
  // A thread that spins in a collective uses the CPU and still waits. There, only waking up and
  // then working counts as motion; in calls that poll by design (a store), not even that.
  const bool worked = motion.cpu_us >= kCpuThatCountsUs;
  if (!thread.call) {
    motion.cpu = worked && thread.wait.on != WaitOn::kDevice &&  // the driver spins, too
                 !waits_to_try_again(thread);
    motion.woke = ran.wakes >= kWakesThatCount && takes_what_comes(thread.wait, model.tables());
  } else if (thread.call->kind != CallKind::kRendezvous && thread.wait.on != WaitOn::kDevice) {
    motion.woke = worked && ran.wakes >= kWakesThatCount && last.state == 'S' && first.state == 'S';
  }
  return motion;
}

}  // namespace oddrank::aggregate
