#include "aggregate/view/coroutines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "aggregate/view/thread_cycle.h"

namespace oddrank::aggregate {

using snapshot::AsyncTask;
using snapshot::ProcessCapture;
using snapshot::TaskState;
using snapshot::ThreadCapture;

snapshot::ThreadSample sample_of(const AsyncTask& task) {
  snapshot::ThreadSample sample;
  sample.stack = task.stack;
  return sample;
}

namespace {

class Coroutines {
 public:
  Coroutines(FrameModel& model, const ProcessCapture& process);

  // Returns the innermost task that this one waits for: the first of several, and the one that has
  // its lock. Null: it waits for no task.
  const AsyncTask* next(const AsyncTask& task) const;
  // Returns all tasks that have to end before this one goes on.
  std::vector<const AsyncTask*> needed(const AsyncTask& task) const;
  // Returns the first circle of tasks, each needing the next, that the task leads to; empty if
  // none. Adds tasks that lead to none to `seen`.
  std::vector<const AsyncTask*> circle_from(const AsyncTask& task,
                                            std::set<const AsyncTask*>& seen) const;
  TaskWay way_from(const AsyncTask& task);
  bool serves(const AsyncTask& task) {
    return model_.story(sample_of(task), Story::kServesCall).has_value();
  }
  bool sleeps(const AsyncTask& task) { return stands_in(task, Story::kSleep); }
  // Returns whether the task waits with a time limit.
  bool has_clock(const AsyncTask& task) const;
  bool waits_inside(const AsyncTask& task) {
    return next(task) != nullptr || stands_in(task, Story::kAwaitsCoroutine);
  }

 private:
  const AsyncTask* find(snapshot::StringId name) const;
  // Returns whether it goes on only when all of its members have ended.
  bool waits_for_all(const AsyncTask& task) const;
  bool stands_in(const AsyncTask& task, Story story);
  bool is_wait_for(snapshot::FrameId id) const;

  FrameModel& model_;
  std::map<snapshot::StringId, const AsyncTask*> by_name_;  // null: several have it
};

Coroutines::Coroutines(FrameModel& model, const ProcessCapture& process) : model_(model) {
  for (const AsyncTask& task : process.tasks) {
    const auto [at, is_new] = by_name_.try_emplace(task.name, &task);
    at->second = is_new ? &task : nullptr;
  }
}

const AsyncTask* Coroutines::find(snapshot::StringId name) const {
  const auto at = name == snapshot::StringId{} ? by_name_.end() : by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

const AsyncTask* Coroutines::next(const AsyncTask& task) const {
  if (const AsyncTask* other = find(task.awaits)) {
    return other;
  }
  for (const snapshot::StringId member : task.members) {
    if (const AsyncTask* other = find(member)) {
      return other;
    }
  }
  return nullptr;
}

bool Coroutines::is_wait_for(snapshot::FrameId id) const {
  const snapshot::Tables& tables = model_.tables();
  return tables.text(tables.frame(id).file).ends_with("/asyncio/tasks.py") &&
         model_.shown(id).name == "wait_for";
}

bool Coroutines::has_clock(const AsyncTask& task) const {
  return std::ranges::any_of(model_.all_frames(sample_of(task)),
                             [this](snapshot::FrameId id) { return is_wait_for(id); });
}

// asyncio.wait may go on when one of its tasks ends.
bool Coroutines::waits_for_all(const AsyncTask& task) const {
  const snapshot::Tables& tables = model_.tables();
  const auto frames = model_.all_frames(sample_of(task));
  if (tables.text(task.awaits) == "<_GatheringFuture>") {
    return true;
  }
  if (frames.empty()) {
    return false;
  }
  const snapshot::Frame& innermost = tables.frame(frames.front());
  const std::string_view file = tables.text(innermost.file);
  return file.ends_with("/asyncio/taskgroups.py") || file.ends_with("/trio/_core/_run.py") ||
         file.ends_with("/anyio/_backends/_asyncio.py") || is_wait_for(frames.front());
}

std::vector<const AsyncTask*> Coroutines::needed(const AsyncTask& task) const {
  std::vector<const AsyncTask*> found;
  if (const AsyncTask* other = find(task.awaits)) {
    found.push_back(other);
  }
  const bool all = task.members.size() <= 1 || waits_for_all(task);
  for (const snapshot::StringId member : task.members) {
    const AsyncTask* other = all ? find(member) : nullptr;
    if (other != nullptr) {
      found.push_back(other);
    }
  }
  return found;
}

std::vector<const AsyncTask*> Coroutines::circle_from(const AsyncTask& task,
                                                      std::set<const AsyncTask*>& seen) const {
  constexpr std::size_t kMaxPath = 256;
  struct Step {
    const AsyncTask* task;
    std::vector<const AsyncTask*> needed;
  };
  std::vector<Step> path;
  if (seen.insert(&task).second) {
    path.push_back({&task, needed(task)});
  }
  while (!path.empty()) {
    std::vector<const AsyncTask*>& rest = path.back().needed;
    if (rest.empty()) {
      path.pop_back();
      continue;
    }
    const AsyncTask* next = rest.back();
    rest.pop_back();
    if (seen.insert(next).second) {
      if (path.size() < kMaxPath) {
        path.push_back({next, needed(*next)});
      }
      continue;
    }
    const auto at = std::ranges::find(path, next, &Step::task);
    if (at != path.end()) {
      std::vector<const AsyncTask*> circle;
      std::transform(at, path.end(), std::back_inserter(circle),
                     [](const Step& step) { return step.task; });
      return circle;
    }
  }
  return {};
}

TaskWay Coroutines::way_from(const AsyncTask& task) {
  constexpr std::size_t kMaxTasks = 32;  // all of them are named
  const auto found = follow(
      &task, [this](const AsyncTask* at) { return next(*at); }, kMaxTasks);
  TaskWay way{found.all(), !found.circle.empty()};
  way.inside = stands_in(*way.tasks.back(), Story::kAwaitsCoroutine);
  return way;
}

bool Coroutines::stands_in(const AsyncTask& task, Story story) {
  const snapshot::ThreadSample sample = sample_of(task);
  const auto hit = model_.story(sample, story);
  return hit && hit->frame == model_.all_frames(sample).front();
}

// Adds what one task asks for to what others ask for.
void add_asked(const snapshot::AskedObjects& from, snapshot::AskedObjects& into) {
  into.known = into.known && from.known;
  into.tasks = into.tasks || from.tasks;
  into.others = into.others || from.others;
  for (const snapshot::StringId actor : from.actors) {
    into.actors.push_back(actor);
  }
}

// Returns the only thread that waits in an event loop, if no other one runs the program; else null.
const ThreadCapture* only_loop(FrameModel& model, const ProcessCapture& process) {
  const ThreadCapture* loop = nullptr;
  for (const ThreadCapture& thread : process.threads) {
    if (!thread.has_python || thread.samples.empty()) {
      continue;
    }
    const auto frame = model.user_frame(thread.samples.back());
    const bool is_loop = model.story(thread.samples.back(), Story::kIdle).has_value();
    if ((is_loop && loop != nullptr) || (!is_loop && frame && frame->user)) {
      return nullptr;
    }
    loop = is_loop ? &thread : loop;
  }
  return loop;
}

// Returns the loop's thread as if it stood where the task does.
ThreadCapture thread_of(const ThreadCapture& loop, const AsyncTask& task) {
  ThreadCapture thread = loop;
  for (snapshot::ThreadSample& sample : thread.samples.stored()) {
    sample.stack = task.stack;
    sample.python_stack = {};
  }
  thread.locals.clear();
  thread.loops.clear();
  thread.places.clear();
  thread.wait = {};
  thread.wait.on = snapshot::WaitOn::kThread;
  thread.wait.inferred = true;
  thread.wait.quiet_ms = loop.wait.quiet_ms;
  return thread;
}

// Returns the thread of the task's event loop; null if it is not known.
const ThreadCapture* loop_of(const ProcessCapture& process, const AsyncTask& task) {
  const auto found = std::ranges::find(process.threads, task.loop, &ThreadCapture::tid);
  return task.loop == 0 || found == process.threads.end() ? nullptr : &*found;
}

// Returns whether the thread is in an event loop, and in a callback that runs there, not in a task.
bool is_in_callback(FrameModel& model, const ProcessCapture& process, const ThreadCapture& thread) {
  const snapshot::ThreadSample* sample = last_sample(thread);
  const auto loop = model.story(sample, Story::kIdle);
  return loop && model.works_inside(*sample, *loop) &&
         std::ranges::none_of(process.tasks, [&thread](const AsyncTask& task) {
           return task.loop == thread.tid && task.state == TaskState::kRuns;
         });
}

// Returns the task that the thread waits for; null if it waits for none. Not the task that it runs,
// if that one asks for another, like a callback that waits for another thread's loop; nor a task of
// its own loop while a callback keeps the loop from running it.
const AsyncTask* awaited_task(FrameModel& model,
                              const ProcessCapture& process,
                              const ThreadCapture& thread) {
  const AsyncTask* awaited = nullptr;
  for (const AsyncTask& task : process.tasks) {
    const bool is_it = task.tid != 0 && task.tid == thread.tid &&
                       !(task.loop == thread.tid && is_in_callback(model, process, thread));
    if (is_it && (awaited == nullptr || awaited->state == TaskState::kRuns)) {
      awaited = &task;
    }
  }
  return awaited;
}

// Sets the wait at a connection as the kernel shows it for a thread.
void wait_at(const snapshot::KeptSocket& socket, snapshot::Wait& wait) {
  wait.on = snapshot::WaitOn::kSocket;
  wait.inferred = false;
  wait.path = socket.link;
  wait.fd = socket.fd;
  wait.holder_pid = socket.holder_pid;
  snapshot::RareWaitFacts& rare = wait.rare.edit();
  rare.local = socket.local;
  rare.peer = socket.peer;
  rare.other_end = socket.other_end;
}

}  // namespace

std::vector<ThreadCapture> coroutine_threads(FrameModel& model, const ProcessCapture& process) {
  std::vector<ThreadCapture> threads;
  const bool connected = std::ranges::any_of(
      process.tasks, [](const AsyncTask& task) { return !task.sockets.empty(); });
  if (!connected) {
    return threads;
  }
  Coroutines coroutines(model, process);
  for (const AsyncTask& task : process.tasks) {
    const ThreadCapture* loop = loop_of(process, task);
    if (task.sockets.empty() || task.state != TaskState::kWaits || loop == nullptr ||
        loop->samples.empty()) {
      continue;
    }
    ThreadCapture& thread = threads.emplace_back(thread_of(*loop, task));
    thread.tid = -loop->tid;
    thread.python_name = task.name;
    const TaskWay way = coroutines.way_from(task);
    const AsyncTask& last = *way.tasks.back();
    if (way.inside) {
      thread.wait.on = snapshot::WaitOn::kLock;
    } else if (last.at_socket) {
      wait_at(last.sockets.front(), thread.wait);
    } else if (last.worker != 0) {
      thread.wait.holder_pid = process.pid;
      thread.wait.holder_tid = last.worker;
    }
    // A loop's clock may be another task's, so it counts only if it is about to ring. That task may
    // bring what this one waits for.
    const snapshot::Wait& clock = loop->wait;
    thread.wait.limited = clock.limited && clock.limit_ms >= 0 &&
                          clock.limit_ms < snapshot::kOldWaitMs &&
                          (coroutines.has_clock(task) || (!last.at_socket && last.worker == 0));
    thread.wait.rare.edit().kept = task.sockets;
  }
  return threads;
}

TaskWay tasks_awaited_by(FrameModel& model,
                         const ProcessCapture& process,
                         const ThreadCapture& thread) {
  const AsyncTask* awaited = awaited_task(model, process, thread);
  return awaited == nullptr ? TaskWay() : Coroutines(model, process).way_from(*awaited);
}

namespace {

bool is_unfinished(const AsyncTask& task) {
  return task.state != TaskState::kParked && task.state != TaskState::kLeftBehind;
}

// Returns whether the event loop waits at a file that is known to be for its own process to wake
// it.
bool wakes_itself(const ProcessCapture& process, const snapshot::Wait& wait) {
  const auto& awaited = wait.rare->awaited;
  if (wait.rare->awaited_count <= 1) {  // the wait tells who has the other end
    return (wait.on == snapshot::WaitOn::kSocket || wait.on == snapshot::WaitOn::kPipe) &&
           wait.holder_pid == process.pid;
  }
  return wait.rare->awaited_count == awaited.size() &&
         std::ranges::all_of(awaited, [&process](const snapshot::AwaitedFile& file) {
           return file.holder_pid == process.pid && !file.listens();
         });
}

}  // namespace

TaskCircle task_circle(FrameModel& model,
                       const ProcessCapture& process,
                       const ThreadCapture& thread) {
  TaskCircle circle;
  const AsyncTask* awaited = awaited_task(model, process, thread);
  if (awaited == nullptr) {
    return circle;
  }
  Coroutines coroutines(model, process);
  std::set<const AsyncTask*> seen;
  circle.tasks = coroutines.circle_from(*awaited, seen);
  circle.awaited = !circle.tasks.empty();
  const bool inside = !circle.awaited && coroutines.way_from(*awaited).inside;
  for (const AsyncTask& task : process.tasks) {
    const bool owes = !task.sockets.empty() && !task.at_socket;
    if (circle.tasks.empty() && (inside || owes) && task.loop != 0 && task.loop == awaited->loop) {
      circle.tasks = coroutines.circle_from(task, seen);
    }
  }
  return circle;
}

TaskCircle waiting_tasks(FrameModel& model, const RankView& rank) {
  if (rank.process == nullptr || rank.decider == nullptr || rank.decider->call ||
      rank.process->tasks.empty() || rank.motion.stack) {
    return {};
  }
  const ThreadCapture* last = follow_threads(*rank.process, *rank.decider).end();
  return last == nullptr || last->call ? TaskCircle() : task_circle(model, *rank.process, *last);
}

bool waits_for_no_task(FrameModel& model,
                       const ProcessCapture& process,
                       const ThreadCapture& thread) {
  const AsyncTask* awaited = awaited_task(model, process, thread);
  const bool only_one = process.read == snapshot::ReadState::kFull &&
                        std::ranges::count_if(process.threads, &ThreadCapture::has_python) == 1;
  if (awaited == nullptr || awaited->loop != thread.tid || !only_one || thread.wait.limited ||
      !wakes_itself(process, thread.wait)) {
    return false;
  }
  Coroutines coroutines(model, process);
  return std::ranges::all_of(process.tasks, [&](const AsyncTask& task) {
    return !is_unfinished(task) || (task.state == TaskState::kWaits && !task.at_socket &&
                                    task.worker == 0 && coroutines.waits_inside(task));
  });
}

std::optional<ServingCoroutine> find_serving_coroutine(FrameModel& model,
                                                       const ProcessCapture& process) {
  Coroutines coroutines(model, process);
  ServingCoroutine found;
  found.inside = true;
  snapshot::AskedObjects asked;
  asked.known = true;
  for (const AsyncTask& task : process.tasks) {
    if (task.state == TaskState::kParked || task.state == TaskState::kLeftBehind) {
      continue;
    }
    if (task.state != TaskState::kWaits || coroutines.sleeps(task)) {
      return std::nullopt;
    }
    if (!coroutines.waits_inside(task)) {
      found.inside = false;
      add_asked(task.asked, asked);
    }
    TaskWay way = coroutines.serves(task) ? coroutines.way_from(task) : TaskWay();
    if (way.tasks.size() > found.way.tasks.size()) {
      found.way = std::move(way);
    }
  }
  const ThreadCapture* loop = found.way.tasks.empty() ? nullptr : only_loop(model, process);
  if (loop == nullptr) {
    return std::nullopt;
  }
  found.thread = thread_of(*loop, *found.way.tasks.front());
  if (!found.inside && asked.known) {
    found.thread.wait.rare.edit().asked = std::move(asked);
  }
  return found;
}

}  // namespace oddrank::aggregate
