// Source: CPython's Lib/concurrent/futures/_base.py (Future._state, and the `self` of its methods),
// thread.py (_WorkItem.run, _worker), and Lib/asyncio/events.py (Handle._run), base_events.py
// (_ready) and futures.py (_chain_future), the same in 3.8 to 3.14. trio 0.35: _threads.py
// (_send_message_to_trio), _core/_entry_queue.py (TrioToken) and _run.py (Runner.entry_queue).
#include "waits/python/python_futures.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/sets.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "cpython/tasks/awaited_source.h"
#include "cpython/tasks/task_threads.h"
#include "waits/frame_pattern.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::RawFrame;
using cpython::SampledThread;

constexpr std::size_t kMaxFutureDepth = 6;     // of Future.result(), from the innermost frame on
constexpr std::size_t kMaxPoolThreads = 1024;  // threads that are compared
constexpr std::size_t kMaxQueuedWork = 512;    // of one pool, or one event loop
constexpr std::size_t kMaxFutureCallbacks = 16;
constexpr std::array kOneFutureWaits = {
    FramePattern{"result", "concurrent/futures/_base.py"},
    FramePattern{"exception", "concurrent/futures/_base.py"},
};
constexpr std::array kWorkItems = {
    FramePattern{"run", "concurrent/futures/thread.py"},
};
constexpr std::array kPoolThreads = {
    FramePattern{"_worker", "concurrent/futures/thread.py"},
};
constexpr FramePattern kAsksTrio{"_send_message_to_trio", "trio/_threads.py"};
constexpr FramePattern kRunsTrio{"run", "trio/_core/_run.py"};
constexpr std::array kCallbacks = {
    FramePattern{"_run", "asyncio/events.py"},
};

bool is_any_of(PythonSample& python,
               const RawFrame& frame,
               std::span<const FramePattern> patterns) {
  const cpython::CodeObject& code = python.code(frame);
  return code.readable && std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
           return matches(pattern, code.function, code.file);
         });
}

bool contains(const std::vector<Addr>& objects, Addr object) {
  return std::ranges::find(objects, object) != objects.end();
}

// Returns whether a callback of a future of concurrent.futures says that the future gets what a
// task of the loop returns. (If the loop waits for the future, the callback refers to a function
// that hands over the result.)
bool is_given_by(cpython::PythonMemory& memory, Addr callback, Addr loop) {
  const std::vector<Addr> objects = cpython::closure_of(memory, callback);
  return contains(objects, loop) && std::ranges::none_of(objects, [&](Addr object) {
           return cpython::type_name(memory, object) == "function";
         });
}

}  // namespace

const RawFrame* PythonFutures::waiting_frame(const SampledThread& waiter) {
  const std::span near(waiter.frames.data(), std::min(waiter.frames.size(), kMaxFutureDepth));
  const auto at = std::find_if(near.begin(), near.end(), [&](const RawFrame& frame) {
    return is_any_of(python_, frame, kOneFutureWaits);
  });
  return at == near.end() ? nullptr : &*at;
}

bool PythonFutures::waits_without_limit(const SampledThread& waiter) {
  const RawFrame* frame = waiting_frame(waiter);
  const Addr limit = frame == nullptr ? Addr{} : values_.local(*frame, "timeout");
  return limit != Addr{} && cpython::type_name(python_.memory(), limit) == "NoneType";
}

bool PythonFutures::works_on(const SampledThread& thread, Addr future) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [&](const RawFrame& frame) {
    return is_any_of(python_, frame, kWorkItems) &&
           cpython::read_attribute(python_.memory(), values_.self(frame), "future") == future;
  });
}

// The frames within a task are inside those of trio's core.
void PythonFutures::add_trio(const SampledThread& thread) {
  const auto is_core = [this](const RawFrame& frame) {
    return python_.code(frame).file.find("/trio/_core/") != std::string::npos;
  };
  const auto run = std::ranges::find_if(thread.frames, [this](const RawFrame& frame) {
    return is_any_of(python_, frame, {&kRunsTrio, 1});
  });
  if (run == thread.frames.end() || std::all_of(thread.frames.begin(), run, is_core)) {
    return;
  }
  const Addr runner = values_.local(*run, "runner");
  const Addr queue = cpython::read_slot_or_attribute(python_.memory(), runner, "entry_queue");
  if (queue != Addr{}) {
    busy_trios_.push_back({queue, &thread});
  }
}

const SampledThread* PythonFutures::trio_asked_by(const SampledThread& waiter) {
  if (waiter.frames.empty() || !is_any_of(python_, waiter.frames.front(), {&kAsksTrio, 1})) {
    return nullptr;
  }
  scan();
  const Addr token = values_.local(waiter.frames.front(), "trio_token");
  const Addr queue = cpython::read_slot_or_attribute(python_.memory(), token, "_reentry_queue");
  const auto at = std::ranges::find(busy_trios_, queue, &Loop::loop);
  return queue == Addr{} || at == busy_trios_.end() ? nullptr : at->thread;
}

std::optional<FutureWait> PythonFutures::wait_of(const SampledThread& waiter) {
  if (const SampledThread* runner = trio_asked_by(waiter)) {
    return FutureWait{.begun = true, .how = FutureWorker::kLoop, .worker = runner};
  }
  const RawFrame* frame = waiting_frame(waiter);
  const Addr future = frame == nullptr ? Addr{} : values_.self(*frame);
  auto wait = wait_for(waiter, future);
  if (!wait || wait->worker != nullptr) {
    return wait;
  }
  scan();
  if (const SampledThread* runner = loop_with(future)) {
    wait->how = FutureWorker::kLoop;
    wait->worker = runner;
  } else if (const Pool* pool = wait->begun ? nullptr : pool_with(future)) {
    wait->worker = pool->threads.size() == 1 ? pool->threads.front() : stuck_in(*pool, waiter);
    wait->how = wait->worker == nullptr ? FutureWorker::kNone : FutureWorker::kPool;
  }
  // At its time limit, a thread that waits for itself goes on.
  const bool ends = wait->worker == &waiter && !waits_without_limit(waiter);
  return ends ? FutureWait{.begun = wait->begun} : wait;
}

const SampledThread* PythonFutures::worker_on(const SampledThread& waiter, Addr future) {
  const auto wait = wait_for(waiter, future);
  return wait ? wait->worker : nullptr;
}

std::optional<FutureWait> PythonFutures::wait_for(const SampledThread& waiter, Addr future) {
  const auto state =
      future == Addr{}
          ? std::nullopt
          : cpython::read_string(python_.memory(),
                                 cpython::read_attribute(python_.memory(), future, "_state"));
  if (!state) {
    return std::nullopt;
  }
  FutureWait wait;
  wait.begun = state->utf8 != "PENDING";
  for (const SampledThread& thread : python_.threads()) {
    if (wait.begun && &thread != &waiter && works_on(thread, future)) {
      wait.worker = &thread;
      wait.how = FutureWorker::kWorks;
    }
  }
  return wait;
}

// Finds the pools and the event loops whose threads are in a task.
void PythonFutures::scan() {
  if (scanned_) {
    return;
  }
  scanned_ = true;
  if (python_.threads().size() > kMaxPoolThreads) {
    return;
  }
  for (const SampledThread& thread : python_.threads()) {
    add_trio(thread);
    bool in_task = false;
    for (const RawFrame& frame : thread.frames) {
      in_task = in_task || is_any_of(python_, frame, kCallbacks);
      if (is_any_of(python_, frame, kPoolThreads)) {
        add_to_pool(thread, frame);
      }
      const Addr loop =
          in_task ? cpython::loop_run_by(python_.memory(), python_.code(frame), frame) : Addr{};
      if (loop != Addr{}) {
        busy_loops_.push_back({loop, &thread});
        break;
      }
    }
  }
}

void PythonFutures::add_to_pool(const SampledThread& thread, const RawFrame& frame) {
  cpython::PythonMemory& memory = python_.memory();
  const Addr queue = values_.local(frame, "work_queue");
  if (queue == Addr{}) {
    return;
  }
  auto pool = std::ranges::find(pools_, queue, &Pool::queue);
  if (pool == pools_.end()) {
    pool = pools_.insert(pool, Pool{.queue = queue, .full = false, .threads = {}, .queued = {}});
    for (const Addr item : cpython::read_simple_queue(memory, queue, kMaxQueuedWork)) {
      pool->queued.push_back(cpython::read_attribute(memory, item, "future"));
    }
  }
  pool->threads.push_back(&thread);
  // A weak reference begins with the object.
  const Addr executor = memory.pointer_or_null(values_.local(frame, "executor_reference") +
                                               memory.layout().object.head);
  const auto most =
      cpython::read_int(memory, cpython::read_attribute(memory, executor, "_max_workers"));
  pool->full = most && *most > 0 && static_cast<std::uint64_t>(*most) <= pool->threads.size();
}

const PythonFutures::Pool* PythonFutures::pool_with(Addr future) {
  const auto at = std::ranges::find_if(
      pools_, [future](const Pool& pool) { return pool.full && contains(pool.queued, future); });
  return at == pools_.end() ? nullptr : &*at;
}

// A coroutine that was handed over is in the loop's queue of callbacks until its task begins; from
// then on the future has a callback that would end the task if the future ended.
const SampledThread* PythonFutures::loop_with(Addr future) {
  cpython::PythonMemory& memory = python_.memory();
  if (busy_loops_.empty()) {
    return nullptr;
  }
  const auto callbacks = cpython::read_list(
      memory, cpython::read_attribute(memory, future, "_done_callbacks"), kMaxFutureCallbacks);
  for (const Loop& busy : busy_loops_) {
    const bool begun = std::ranges::any_of(
        callbacks, [&](Addr callback) { return is_given_by(memory, callback, busy.loop); });
    const auto handed_over = [&] {
      const auto ready = cpython::read_deque(
          memory, cpython::read_attribute(memory, busy.loop, "_ready"), kMaxQueuedWork);
      return std::ranges::any_of(ready, [&](Addr handle) {
        return contains(cpython::objects_of_callback(memory, handle), future);
      });
    };
    if (begun || handed_over()) {
      return busy.thread;
    }
  }
  return nullptr;
}

std::vector<const SampledThread*> PythonFutures::needed_by(const SampledThread& waiter) {
  const RawFrame* frame = waits_without_limit(waiter) ? waiting_frame(waiter) : nullptr;
  const Addr future = frame == nullptr ? Addr{} : values_.self(*frame);
  const auto wait = wait_for(waiter, future);
  if (!wait) {
    return {};
  }
  if (wait->worker != nullptr) {
    return {wait->worker};
  }
  if (const SampledThread* runner = loop_with(future)) {
    return {runner};
  }
  const Pool* pool = wait->begun ? nullptr : pool_with(future);
  return pool == nullptr ? std::vector<const SampledThread*>() : pool->threads;
}

bool PythonFutures::is_stuck(const SampledThread* thread) const {
  return std::ranges::find(stuck_, thread, &Dependent::waiter) != stuck_.end();
}

// Begins with all threads that wait for a future, and drops those that wait for a thread which may
// go on, until the rest wait for each other.
void PythonFutures::find_stuck() {
  if (compared_) {
    return;
  }
  compared_ = true;
  for (const SampledThread& thread : python_.threads()) {
    if (auto needed = needed_by(thread); !needed.empty()) {
      stuck_.push_back({&thread, std::move(needed)});
    }
  }
  const auto may_go_on = [this](const Dependent& each) {
    return !std::ranges::all_of(each.on, [this](const auto* other) { return is_stuck(other); });
  };
  for (bool changed = true; changed;) {
    std::vector<Dependent> rest;
    std::ranges::copy_if(stuck_, std::back_inserter(rest),
                         [&](const Dependent& each) { return !may_go_on(each); });
    changed = rest.size() != stuck_.size();
    stuck_ = std::move(rest);
  }
}

// If all threads of the pool wait for each other, returns the thread after `waiter` in the pool's
// list, so that together the answers form one circle. Null if one of the threads may go on.
const SampledThread* PythonFutures::stuck_in(const Pool& pool, const SampledThread& waiter) {
  find_stuck();
  if (!is_stuck(&waiter)) {
    return nullptr;
  }
  const auto at = std::ranges::find(pool.threads, &waiter);
  return at == pool.threads.end() || at + 1 == pool.threads.end() ? pool.threads.front()
                                                                  : *(at + 1);
}

}  // namespace oddrank::waits
