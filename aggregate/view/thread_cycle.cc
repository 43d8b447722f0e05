#include "aggregate/view/thread_cycle.h"

#include <algorithm>

#include "aggregate/view/decider.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;

const ThreadCapture* awaited_thread(const ProcessCapture& process, const ThreadCapture& thread) {
  const snapshot::Wait& wait = thread.wait;
  const bool thread_may_hold =
      wait.on == WaitOn::kLock || wait.on == WaitOn::kGil || wait.on == WaitOn::kThread;
  if (!thread_may_hold || thread.call || wait.holder_pid != process.pid || wait.holder_tid == 0) {
    return nullptr;
  }
  const auto at = std::ranges::find(process.threads, wait.holder_tid, &ThreadCapture::tid);
  return at == process.threads.end() ? nullptr : &*at;
}

ThreadChain follow_threads(const ProcessCapture& process, const ThreadCapture& from) {
  ThreadChain chain = follow(
      &from, [&process](const ThreadCapture* thread) { return awaited_thread(process, *thread); });
  const auto shares = std::ranges::find_if(chain.circle, [](const ThreadCapture* each) {
    return each->wait.how == snapshot::WaitHow::kObject;
  });
  if (shares != chain.circle.end()) {
    chain.way.insert(chain.way.end(), chain.circle.begin(), shares + 1);
    chain.circle.clear();
  }
  return chain;
}

bool has_gil(const ThreadList& circle) {
  return std::ranges::any_of(
      circle, [](const ThreadCapture* thread) { return thread->wait.on == WaitOn::kGil; });
}

bool is_inferred(const ThreadList& circle) {
  return std::ranges::any_of(circle,
                             [](const ThreadCapture* thread) { return thread->wait.inferred; });
}

bool stands_still(const ThreadList& circle, FrameModel& model) {
  return std::ranges::all_of(circle, [&model](const ThreadCapture* thread) {
    const Motion motion = measure_motion(*thread, model);
    return motion.measured && (!motion.stack || thread->wait.on == WaitOn::kGil);
  });
}

const ThreadCapture* waiting_gil_owner(const ProcessCapture& process,
                                       const ThreadChain& chain,
                                       FrameModel& model) {
  const ThreadCapture* last = chain.end();
  if (last == nullptr || !last->holds_gil || last->samples.empty() ||
      (last->samples.back().state != 'S' && !last->call)) {
    return nullptr;
  }
  const Motion motion = measure_motion(*last, model);
  const bool stands = motion.measured && !motion.stack && (!motion.cpu || last->call);
  const bool wanted = std::ranges::any_of(process.threads,
                                          [](const ThreadCapture& each) { return each.wants_gil; });
  return stands && wanted ? last : nullptr;
}

bool is_shared_lock(const snapshot::Wait& wait) {
  return wait.on == WaitOn::kLock && wait.holder_pid == 0 &&
         wait.lock.owner != snapshot::LockOwner::kNobodyElse &&
         (wait.lock.shared || wait.lock.kind == snapshot::LockKind::kShared);
}

bool is_at_python_lock(const ThreadCapture& thread) {
  const snapshot::Wait& wait = thread.wait;
  // Objects in C (queue.SimpleQueue) wait at their own semaphore, like Python's locks.
  const bool of_python = wait.how == snapshot::WaitHow::kPythonLock ||
                         wait.how == snapshot::WaitHow::kObject ||
                         wait.how == snapshot::WaitHow::kFutureNotBegun ||
                         (thread.has_python && wait.lock.kind == snapshot::LockKind::kSemaphore);
  return wait.on == WaitOn::kLock && of_python && !is_shared_lock(wait);
}

bool is_at_own_lock(const ThreadCapture& thread) {
  return is_at_python_lock(thread) && !thread.wait.limited;
}

bool is_last_of_python(const ProcessCapture& process, const ThreadCapture& thread) {
  return process.read == snapshot::ReadState::kFull && thread.has_python &&
         thread.wait.holder_tid == 0 &&
         std::ranges::count_if(process.threads, &ThreadCapture::has_python) == 1;
}

}  // namespace oddrank::aggregate
