#include "base/isolated.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/deadline.h"
#include "base/isolated_child.h"
#include "base/parse_number.h"
#include "base/proc/held_up.h"

namespace oddrank {
namespace {

using Clock = std::chrono::steady_clock;

// kMaxWait is the longest single poll(). A poll that overruns by more than kStandstill means that
// we were stopped, not that the machine is busy.
constexpr std::chrono::milliseconds kMaxWait{250};
constexpr std::chrono::milliseconds kStandstill{250};

// Readers that are held up do not count as running; so many may be there in all.
constexpr std::size_t kMaxChildren = 16;

using Children = std::vector<IsolatedChild>;

// Returns when a child has sent something, when a deadline has passed, or after kMaxWait. If we
// were stopped since the last return, so were the children: their deadlines move by that time,
// which is returned.
std::chrono::milliseconds wait_for_any(std::vector<pollfd>& polled,
                                       Children& running,
                                       Clock::time_point& last_return) {
  std::chrono::milliseconds longest = kMaxWait;
  for (const IsolatedChild& child : running) {
    longest = std::min(longest, child.deadline().left());
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(longest.count()));
  const Clock::time_point now = Clock::now();
  const auto took = now - std::exchange(last_return, now);
  const auto late = std::chrono::floor<std::chrono::milliseconds>(took) - longest;
  if (late <= kStandstill) {
    return std::chrono::milliseconds(0);
  }
  for (IsolatedChild& child : running) {
    child.move_deadline(late);
  }
  return late;
}

enum class ChildState { kBusy, kIdle, kEnded };

// Takes what a child has sent. `result`: its task's.
ChildState take_from(IsolatedChild& child,
                     const pollfd& output,
                     const pollfd& done,
                     std::size_t byte_limit,
                     IsolatedResult& result) {
  if (done.revents != 0 && child.take_rest(result, byte_limit)) {
    result.end = IsolatedEnd::kFinished;
    result.took = child.age();
    return ChildState::kIdle;
  }
  bool ended = output.revents != 0 && !child.take_output(result, byte_limit);
  std::string silent;
  if (!ended && !child.deadline().passed()) {
    silent = child.silent_file();
    if (silent.empty()) {
      return ChildState::kBusy;
    }
  }
  // It may have ended in time, and be waited for only now.
  ended = ended || !child.take_waiting(result, byte_limit);
  if (!ended) {
    result.held_up_by = silent.empty() ? held_up_by(child.pid()) : std::move(silent);
    const bool had_time = child.had_time() || !result.held_up_by.empty();
    result.end = had_time ? IsolatedEnd::kDeadline : IsolatedEnd::kNoTime;
    child.kill();
  }
  result.took = child.age();
  child.finish(result);
  return ChildState::kEnded;
}

// Waits for any of the children, and takes what they send. Children that have ended leave
// `running`; those that have done their task and may get another one move to `idle`.
// Returns for how long we were stopped.
std::chrono::milliseconds take_outputs(Children& running,
                                       Children& idle,
                                       std::vector<IsolatedResult>& results,
                                       std::size_t byte_limit,
                                       Clock::time_point& last_wait) {
  std::vector<pollfd> polled;
  polled.reserve(2 * running.size());
  for (const IsolatedChild& child : running) {
    polled.push_back({child.output(), POLLIN, 0});
    polled.push_back({child.done(), POLLIN, 0});
  }
  const std::chrono::milliseconds stopped = wait_for_any(polled, running, last_wait);
  Children still;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const ChildState state = take_from(running[i], polled[2 * i], polled[2 * i + 1], byte_limit,
                                       results[running[i].task()]);
    if (state == ChildState::kBusy) {
      still.push_back(std::move(running[i]));
    } else if (state == ChildState::kIdle) {
      idle.push_back(std::move(running[i]));
    }
  }
  running = std::move(still);
  return stopped;
}

// The tasks that have not begun, and the children that run the others.
class Schedule {
 public:
  Schedule(const std::vector<IsolatedTask>& tasks, std::size_t at_once, const Deadline& all)
      : tasks_(tasks),
        at_once_(std::max<std::size_t>(at_once, 1)),
        all_(all),
        begun_(tasks.size()) {}

  bool over() const { return left_ == tasks_.size() && running_.empty(); }
  // Gives another task to each child that has done its own, or ends the child if there is none.
  // Then starts more children, as many as may run at once.
  void go_on(std::vector<IsolatedResult>& results);
  // The caller's own work since the last wait does not count as a standstill.
  void resume() { last_wait_ = Clock::now(); }
  void take(std::vector<IsolatedResult>& results, std::size_t byte_limit) {
    all_ = all_.later(take_outputs(running_, idle_, results, byte_limit, last_wait_));
  }

 private:
  void reuse(IsolatedChild child, IsolatedResult& done);
  void add(IsolatedChild child);
  bool has_room() const;

  const std::vector<IsolatedTask>& tasks_;
  std::size_t at_once_;
  Deadline all_;
  std::vector<bool> begun_;
  std::size_t left_ = 0;  // the first task that has not begun
  Children running_;
  Children idle_;
  Clock::time_point last_wait_ = Clock::now();
};

bool Schedule::has_room() const {
  if (running_.size() < at_once_) {
    return true;
  }
  const auto held_up = std::count_if(running_.begin(), running_.end(),
                                     [](const IsolatedChild& child) { return child.held_up(); });
  return running_.size() - static_cast<std::size_t>(held_up) < at_once_ &&
         running_.size() < kMaxChildren;
}

void Schedule::reuse(IsolatedChild child, IsolatedResult& done) {
  const auto owner = tasks_[child.task()].owner;
  for (std::size_t next = left_; next < tasks_.size(); ++next) {
    if (!begun_[next] && tasks_[next].owner == owner && child.give(tasks_[next], next)) {
      begun_[next] = true;
      add(std::move(child));
      return;
    }
  }
  child.finish(done);
}

void Schedule::add(IsolatedChild child) {
  child.limit(all_);
  running_.push_back(std::move(child));
}

void Schedule::go_on(std::vector<IsolatedResult>& results) {
  if (all_.passed()) {
    for (std::size_t i = left_; i < tasks_.size(); ++i) {
      if (!begun_[i]) {
        begun_[i] = true;
        results[i].end = IsolatedEnd::kNoTime;
      }
    }
  }
  for (IsolatedChild& child : std::exchange(idle_, {})) {
    IsolatedResult& done = results[child.task()];
    reuse(std::move(child), done);
  }
  for (; left_ < tasks_.size() && (begun_[left_] || has_room()); ++left_) {
    if (begun_[left_]) {
      continue;
    }
    begun_[left_] = true;
    if (auto child = IsolatedChild::start(tasks_, left_)) {
      add(*std::move(child));
    }
  }
}

// Returns the deadline; the longest time is too long to be added to now.
Deadline deadline_of(std::chrono::milliseconds all) {
  return Deadline::after(std::min<std::chrono::milliseconds>(all, std::chrono::hours(24 * 365)));
}

}  // namespace

struct PendingTask::Child {
  Children running;  // at most one
};

PendingTask::PendingTask(const IsolatedTask& task) : child_(std::make_unique<Child>()) {
  IsolatedTask alone = task;
  alone.owner = kNoOwner;
  if (auto child = IsolatedChild::start({&alone, 1}, 0)) {
    child_->running.push_back(*std::move(child));
  }
}

PendingTask::PendingTask(PendingTask&&) noexcept = default;

PendingTask::~PendingTask() {
  if (child_ != nullptr && !child_->running.empty()) {
    IsolatedResult unused;
    unused.end = IsolatedEnd::kDeadline;
    child_->running.front().kill();
    child_->running.front().finish(unused);
  }
}

IsolatedResult PendingTask::finish(std::size_t byte_limit) {
  std::vector<IsolatedResult> results(1);
  Children idle;
  Clock::time_point last_wait = Clock::now();
  while (!child_->running.empty()) {
    take_outputs(child_->running, idle, results, byte_limit, last_wait);
  }
  return results.front();
}

std::vector<IsolatedResult> run_isolated(const std::vector<IsolatedTask>& tasks,
                                         std::size_t at_once,
                                         std::size_t byte_limit,
                                         std::chrono::milliseconds all,
                                         const Meanwhile& meanwhile) {
  std::vector<IsolatedResult> results(tasks.size());
  Schedule schedule(tasks, at_once, deadline_of(all));
  schedule.go_on(results);
  while (!schedule.over()) {
    schedule.take(results, byte_limit);
    schedule.go_on(results);
    if (meanwhile) {
      meanwhile(results);
      schedule.resume();
    }
  }
  return results;
}

bool send_bytes(int fd, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + sent, bytes.size() - sent);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    sent += static_cast<std::size_t>(written);
  }
  return true;
}

void close_inherited(int kept) {
  constexpr int kFirst = STDERR_FILENO + 1;
  const bool before =
      kept <= kFirst || ::close_range(kFirst, static_cast<unsigned>(kept - 1), 0) == 0;
  if (::close_range(static_cast<unsigned>(std::max(kept + 1, kFirst)), ~0U, 0) == 0 && before) {
    return;
  }
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) {
    return;
  }
  std::vector<int> open;
  while (const dirent* entry = ::readdir(folder)) {
    const auto fd = parse_number<int>(entry->d_name);
    if (fd && *fd >= kFirst && *fd != kept && *fd != ::dirfd(folder)) {
      open.push_back(*fd);
    }
  }
  ::closedir(folder);
  for (const int fd : open) {
    ::close(fd);
  }
}

}  // namespace oddrank
