// Joins parents and the children that they wait for, on plain data.
//
// The kernel knows what a thread sleeps on (a pipe, a lock). Only the frames of both sides show
// that the pipe is a loader's data queue, and that one of the loader's workers does not fill it. A
// worker in its queue's `get` directly under its loop has nothing to do; any other worker owes its
// parent something. If exactly one worker owes something, it is the holder; if several do, none is
// named, since the frames do not show which one the parent needs next.
#include "waits/node/join_processes.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "waits/frame_pattern.h"
#include "waits/native_lock.h"
#include "waits/node/device_wait.h"
#include "waits/node/node_family.h"
#include "waits/node/owners/once_locks.h"
#include "waits/node/thread_motion.h"
#include "waits/python/gil_wait.h"
#include "waits/python/worker_pools.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::Frame;
using snapshot::Known;
using snapshot::ProcessCapture;
using snapshot::StringId;
using snapshot::Tables;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitAbout;
using snapshot::WaitHow;
using snapshot::WaitOn;

enum class WorkerState { kNone, kIdle, kBusy };

bool stopped(const ProcessCapture& process) {
  return process.state == 'T' || process.state == 't';
}

// Returns the state of a worker whose frames were read. Searches all threads for its loop, which
// need not run in the main thread. If several run it, one that works is enough.
WorkerState state_by_frames(const ProcessCapture& process,
                            const WorkerPool& pool,
                            const Tables& tables) {
  WorkerState state = WorkerState::kNone;
  for (const ThreadCapture& thread : process.threads) {
    const auto frames = python_frames(thread, tables);
    const auto loop = std::find_if(frames.begin(), frames.end(), [&](const Frame* frame) {
      return matches(pool.loop, *frame, tables);
    });
    if (loop == frames.end()) {
      continue;
    }
    if (loop == frames.begin() || stopped(process)) {
      return WorkerState::kBusy;
    }
    const Frame* inside = *std::prev(loop);
    const bool idle =
        std::any_of(pool.idle.begin(), pool.idle.end(),
                    [&](const FramePattern& pattern) { return matches(pattern, *inside, tables); });
    if (!idle) {
      return WorkerState::kBusy;
    }
    state = WorkerState::kIdle;
  }
  return state;
}

bool has_python(const ProcessCapture& process, const Tables& tables) {
  return std::any_of(process.threads.begin(), process.threads.end(),
                     [&](const auto& thread) { return !python_frames(thread, tables).empty(); });
}

WorkerState worker_state(const ProcessCapture& process,
                         const WorkerPool& pool,
                         const Tables& tables) {
  if (is_dead(process)) {
    return WorkerState::kNone;
  }
  const bool named = !pool.process_name.empty() && tables.text(process.name) == pool.process_name;
  if (named && !has_python(process, tables)) {
    return WorkerState::kBusy;  // a worker that could not be read is not known to be idle
  }
  return state_by_frames(process, pool, tables);
}

struct PoolMembers {
  ProcessList busy;
  ProcessList dead;        // certainly workers, judging by their names
  ProcessList dead_other;  // children that may have been workers
  std::size_t idle = 0;
};

PoolMembers members_of(const Capture& capture, std::size_t process, const WorkerPool& pool) {
  PoolMembers members;
  for (const std::size_t i : family_of(capture, process)) {
    const ProcessCapture& each = capture.processes[i];
    if (is_dead(each)) {
      const bool named =
          !pool.process_name.empty() && capture.tables.text(each.name) == pool.process_name;
      (named ? members.dead : members.dead_other).push_back(i);
      continue;
    }
    switch (worker_state(each, pool, capture.tables)) {
      case WorkerState::kBusy:
        members.busy.push_back(i);
        break;
      case WorkerState::kIdle:
        ++members.idle;
        break;
      case WorkerState::kNone:
        break;
    }
  }
  return members;
}

void set_holder(Capture& capture, std::size_t holder, Wait& wait) {
  const ProcessCapture& process = capture.processes[holder];
  wait.holder_pid = process.pid;
  wait.holder_tid = 0;
  wait.holder_alive = is_dead(process) ? Known::kNo : Known::kYes;
  if (process.threads.empty()) {
    return;
  }
  const Wait& theirs = process.threads.front().wait;
  wait.holder_tid = process.threads.front().tid;
  if (theirs.path != snapshot::StringId{}) {
    // Show the root of the wait; the parent's own pipe tells a reader of the report nothing.
    wait.path = theirs.path;
    wait.fd = -1;
  }
}

// Returns whether the wait may be for threads: a future that no thread has started may be in the
// queue of a thread pool, behind work that involves no process.
bool may_wait_for_threads(const ProcessCapture& process, const Wait& wait, const Tables& tables) {
  constexpr FramePattern kLoop{"_worker", "concurrent/futures/thread.py"};
  const auto is_busy = [&](const ThreadCapture& thread) {
    const auto frames = python_frames(thread, tables);
    const auto loop = std::find_if(frames.begin(), frames.end(), [&](const Frame* frame) {
      return matches(kLoop, *frame, tables);
    });
    return loop != frames.end() && loop != frames.begin();
  };
  return wait.how == WaitHow::kFutureNotBegun &&
         std::any_of(process.threads.begin(), process.threads.end(), is_busy);
}

// Returns whether the work was handed out, but no existing worker has it: its worker has ended. A
// pool that does not notice this waits for ever.
bool has_lost_work(const ProcessCapture& process,
                   const WorkerPool& pool,
                   const PoolMembers& members,
                   const Tables& tables) {
  if (pool.handlers.empty() || members.idle == 0 || !members.busy.empty() ||
      !members.dead.empty() || !members.dead_other.empty()) {
    return false;
  }
  std::size_t handlers = 0;
  for (const ThreadCapture& thread : process.threads) {
    const auto idle = is_idle_handler(pool, python_frames(thread, tables), tables);
    if (idle == false) {
      return false;
    }
    handlers += idle ? 1U : 0U;
  }
  return handlers >= pool.handlers.size();
}

void join_pool(Capture& capture, std::size_t process, const WorkerPool& pool, Wait& wait) {
  const PoolMembers members = members_of(capture, process, pool);
  const ProcessList* guilty = &members.dead;
  if (guilty->empty()) {
    guilty = &members.busy;
  }
  if (guilty->empty()) {
    guilty = &members.dead_other;
  }
  const std::size_t workers = members.busy.size() + members.dead.size() + members.idle;
  if (workers == 0 && members.dead_other.empty() && pool.on != WaitOn::kInput) {
    return;  // the future may belong to a thread
  }
  wait.on = pool.on;
  wait.inferred = true;
  wait.rare.edit().about = WaitAbout::kPool;
  wait.how = wait.how == WaitHow::kObject ? WaitHow::kDescribed : wait.how;
  wait.rare.edit().notes = {};
  wait.rare.edit().pool = {};
  wait.rare.edit().pool.name = capture.tables.string(pool.name);
  wait.rare.edit().pool.meant = static_cast<std::uint32_t>(guilty->size());
  wait.rare.edit().pool.workers = static_cast<std::uint32_t>(workers);
  if (has_lost_work(capture.processes[process], pool, members, capture.tables)) {
    wait.holder_pid = 0;
    wait.holder_alive = Known::kNo;
  }
  for (std::size_t i = 0; i < std::min(guilty->size(), snapshot::kMaxPoolPids); ++i) {
    wait.rare.edit().pool.pids.push_back(capture.processes[(*guilty)[i]].pid);
  }
  if (guilty->size() == 1) {
    set_holder(capture, guilty->front(), wait);
  }
}

const ProcessCapture* find_process(const Capture& capture, std::uint32_t node, pid_t pid) {
  const auto at = std::find_if(
      capture.processes.begin(), capture.processes.end(),
      [&](const ProcessCapture& each) { return each.node == node && each.pid == pid; });
  return at == capture.processes.end() ? nullptr : &*at;
}

// Adds what is known about a holder that the system call itself named.
void describe_holder(Capture& capture, std::size_t process, Wait& wait) {
  const ProcessCapture& ours = capture.processes[process];
  const ProcessCapture* holder = find_process(capture, ours.node, wait.holder_pid);
  if (holder == nullptr || holder == &ours) {
    return;
  }
  // A blocked lock has a holder: threads of a process may outlive its main thread.
  const bool lock = wait.on == WaitOn::kFileLock && !wait.inferred;
  wait.holder_alive = is_dead(*holder) && !lock ? Known::kNo : Known::kYes;
  wait.rare.edit().about = WaitAbout::kHolder;
}

// Returns the only child; else, if only dead ones are wanted, the one that did not exit in order.
// The resource tracker of multiprocessing sends nothing.
const std::size_t* find_only_child(const Capture& capture,
                                   const ProcessList& children,
                                   bool dead_only) {
  constexpr FramePattern kTracker{"main", "multiprocessing/resource_tracker.py"};
  const std::size_t* found = nullptr;
  for (const std::size_t& at : children) {
    const ProcessCapture& child = capture.processes[at];
    if (!dead_only || !is_dead(child)) {
      const bool tracker =
          std::any_of(child.threads.begin(), child.threads.end(), [&](const ThreadCapture& thread) {
            return any_frame_matches(python_frames(thread, capture.tables), std::span(&kTracker, 1),
                                     capture.tables);
          });
      if (dead_only && tracker) {
        continue;
      }
      return children.size() == 1 && !dead_only ? &children.front() : nullptr;
    }
    const bool in_order = child.exit_code <= 0 && children.size() > 1;  // or not known
    if (in_order) {
      continue;
    }
    if (found != nullptr) {
      return nullptr;
    }
    found = &at;
  }
  return found;
}

// Returns whether any child ends the system call, as in a shell that waits for all.
bool is_for_any_child(const Capture& capture, const Wait& wait) {
  return wait.on == WaitOn::kChild && capture.tables.text(wait.syscall_name).starts_with("wait");
}

std::uint64_t cpu_of(const ThreadCapture& thread) {
  return thread.samples.empty() ? 0 : thread.samples.back().cpu_us - thread.samples.front().cpu_us;
}

// A process that works may sleep for a moment.
bool is_working(const ThreadCapture& thread) {
  constexpr std::uint64_t kWorkUs = 100'000;
  return !thread.samples.empty() &&
         (thread.samples.back().state == 'R' || cpu_of(thread) >= kWorkUs);
}

// Returns the child that the others wait for, as in a pipeline; if several run, the one that works
// most. Null if unknown.
const std::size_t* find_working_child(const Capture& capture, const ProcessList& children) {
  const auto is_sibling = [&](pid_t pid) {
    return std::any_of(children.begin(), children.end(),
                       [&](std::size_t at) { return capture.processes[at].pid == pid; });
  };
  const std::size_t* found = nullptr;
  for (const std::size_t& at : children) {
    const ProcessCapture& child = capture.processes[at];
    if (is_dead(child) || child.threads.empty()) {
      continue;
    }
    const ThreadCapture& main = child.threads.front();
    if (!is_working(main) && is_sibling(main.wait.holder_pid)) {
      continue;
    }
    if (found == nullptr) {
      found = &at;
      continue;
    }
    const ThreadCapture& other = capture.processes[*found].threads.front();
    if (!is_working(main) || !is_working(other)) {
      return nullptr;
    }
    found = cpu_of(main) > cpu_of(other) ? &at : found;
  }
  return found;
}

void join_only_child(Capture& capture, std::size_t process, Wait& wait, bool dead_only) {
  const ProcessList children = children_of(capture, process);
  const std::size_t* child = find_only_child(capture, children, dead_only);
  if (child == nullptr && is_for_any_child(capture, wait)) {
    child = find_working_child(capture, children);
  }
  if (child != nullptr) {
    set_holder(capture, *child, wait);
    wait.inferred = true;
    wait.rare.edit().about = children.size() == 1 ? WaitAbout::kOnlyChild : WaitAbout::kHolder;
  }
}

void join_thread(Capture& capture, std::size_t process, Wait& wait, const ThreadCapture& thread) {
  if (thread.samples.empty()) {
    return;
  }
  name_gil_wait(capture.processes[process], thread, capture.tables, wait);
  if (wait.on == WaitOn::kLock || wait.on == WaitOn::kThread) {
    name_native_lock(thread, capture.tables, wait);
    name_allocator_owner(capture.processes[process], capture.tables, wait);
    name_initialiser(capture.processes[process], thread, capture.tables, wait);
  }
  name_device_wait(capture.processes[process], thread, capture.tables, wait);
  if (wait.on == WaitOn::kNothing || wait.on == WaitOn::kGil || wait.on == WaitOn::kDevice) {
    return;
  }
  if (wait.how == WaitHow::kFutureOfThread || wait.how == WaitHow::kFutureOfPool ||
      wait.how == WaitHow::kFutureOfLoop ||
      may_wait_for_threads(capture.processes[process], wait, capture.tables)) {
    return;
  }
  const auto frames = python_frames(thread, capture.tables);
  for (const WorkerPool& pool : worker_pools()) {
    if (any_frame_matches(frames, pool.waiting, capture.tables)) {
      join_pool(capture, process, pool, wait);
      if (wait.rare->about == WaitAbout::kPool) {
        return;
      }
    }
  }
  if (wait.holder_pid != 0) {
    describe_holder(capture, process, wait);
    return;
  }
  if (wait.on == WaitOn::kChild || any_frame_matches(frames, child_joins(), capture.tables)) {
    wait.on = WaitOn::kChild;
    join_only_child(capture, process, wait, false);
    return;
  }
  if (any_frame_matches(frames, queue_reads(), capture.tables)) {
    join_only_child(capture, process, wait, true);
  }
}

}  // namespace

void join_processes(Capture& capture) {
  // Joins everything first and writes afterwards, so that each process sees the others as read, in
  // any order.
  std::vector<std::vector<Wait>> joined(capture.processes.size());
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    for (const ThreadCapture& thread : capture.processes[i].threads) {
      joined[i].push_back(thread.wait);
      join_thread(capture, i, joined[i].back(), thread);
      const bool device = joined[i].back().on == WaitOn::kDevice;  // drivers spin and poll
      const StringId motion =
          capture.tables.string(device ? std::string() : motion_words(thread, capture.tables));
      if (motion != joined[i].back().rare->motion) {
        joined[i].back().rare.edit().motion = motion;
      }
    }
  }
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    for (std::size_t t = 0; t < joined[i].size(); ++t) {
      capture.processes[i].threads[t].wait = joined[i][t];
    }
  }
}

}  // namespace oddrank::waits
