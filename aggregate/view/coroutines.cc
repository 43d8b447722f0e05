#include "aggregate/view/coroutines.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "aggregate/view/way.h"

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
  TaskWay way_from(const AsyncTask& task);
  bool serves(const AsyncTask& task) {
    return model_.story(sample_of(task), Story::kServesCall).has_value();
  }
  bool sleeps(const AsyncTask& task) { return stands_in(task, Story::kSleep); }
  bool waits_inside(const AsyncTask& task) {
    return next(task) != nullptr || stands_in(task, Story::kAwaitsCoroutine);
  }

 private:
  const AsyncTask* find(snapshot::StringId name) const;
  bool stands_in(const AsyncTask& task, Story story);

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

// Adds what one task asks for to what others do.
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

// Takes over the wait at a connection, which the kernel tells as of a thread.
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
    const AsyncTask& last = *coroutines.way_from(task).tasks.back();
    if (last.at_socket) {
      wait_at(last.sockets.front(), thread.wait);
    } else if (last.worker != 0) {
      thread.wait.holder_pid = process.pid;
      thread.wait.holder_tid = last.worker;
    }
    thread.wait.rare.edit().kept = task.sockets;
  }
  return threads;
}

TaskWay tasks_awaited_by(FrameModel& model,
                         const ProcessCapture& process,
                         const ThreadCapture& thread) {
  const auto awaited = std::ranges::find_if(process.tasks, [&thread](const AsyncTask& task) {
    return task.tid != 0 && task.tid == thread.tid;
  });
  return awaited == process.tasks.end() ? TaskWay() : Coroutines(model, process).way_from(*awaited);
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
