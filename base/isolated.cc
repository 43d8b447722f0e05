#include "base/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace oddrank {
namespace {

using Clock = std::chrono::steady_clock;

// kMaxWait is the longest single poll(). A poll that overruns by more than kStandstill means that
// we were stopped, not that the machine is busy.
constexpr std::chrono::milliseconds kMaxWait{250};
constexpr std::chrono::milliseconds kStandstill{250};

// The exit status of a child that ran out of memory.
constexpr int kOutOfMemory = 86;

struct Running {
  std::size_t task = 0;
  pid_t pid = -1;
  UniqueFd output;
  Clock::time_point started;
  Deadline deadline = Deadline::after(std::chrono::milliseconds(0));
};

[[noreturn]] void run_child(const IsolatedTask& task, int fd, pid_t parent) {
  // If we die, no reader that holds a target may stay behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  // The parent handles Ctrl-C at the terminal: it still uses what we can send.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  confine(task.may);
  try {
    task.run(fd);
  } catch (const std::bad_alloc&) {
    ::_exit(kOutOfMemory);
  }
  ::_exit(0);
}

std::optional<Running> start(const IsolatedTask& task, std::size_t index) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  Running running;
  running.output = UniqueFd(ends[0]);
  UniqueFd input(ends[1]);
  running.task = index;
  running.started = Clock::now();
  running.deadline = Deadline::after(task.timeout);
  const pid_t parent = ::getpid();
  running.pid = ::fork();
  if (running.pid < 0) {
    return std::nullopt;
  }
  if (running.pid == 0) {
    run_child(task, input.get(), parent);
  }
  return running;
}

// Reaps a child that has closed its pipe or was killed. A child in state D cannot die yet; it is
// left to init rather than waited for.
std::optional<int> reap(pid_t pid, std::chrono::milliseconds patience) {
  const Deadline deadline = Deadline::after(patience);
  UniqueFd child;
  while (true) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid) {
      return status;
    }
    if ((reaped < 0 && errno != EINTR) || deadline.passed()) {
      return std::nullopt;
    }
    if (!child.valid()) {
      child = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    }
    // Before Linux 5.3 there is nothing to wait for, and the child is asked every millisecond.
    pollfd polled{child.get(), POLLIN, 0};
    const auto longest = child.valid() ? deadline.left().count() : 0;
    ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(longest, 1)));
  }
}

void finish(Running& running, IsolatedResult& result) {
  result.took =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - running.started);
  // A child that closed its pipe is about to exit, which may take a while on a loaded machine; one
  // that was killed at its deadline may be in state D for good.
  const std::chrono::milliseconds patience(result.end == IsolatedEnd::kDeadline ? 50 : 1000);
  auto status = reap(running.pid, patience);
  if (!status) {  // it closed its pipe and still does not exit
    ::kill(running.pid, SIGKILL);
    status = reap(running.pid, patience);
  }
  if (result.end == IsolatedEnd::kDeadline) {
    return;
  }
  result.end = IsolatedEnd::kCrashed;
  if (status && WIFSIGNALED(*status)) {
    result.signal = WTERMSIG(*status);
  } else if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
    result.end = IsolatedEnd::kFinished;
  } else if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kOutOfMemory) {
    result.end = IsolatedEnd::kNoMemory;
  }
}

// Returns false at the end of the child's output.
bool take_output(const Running& running, IsolatedResult& result, std::size_t byte_limit) {
  std::array<char, 65536> block;  // not cleared: most answers are small
  const ssize_t got = ::read(running.output.get(), block.data(), block.size());
  if (got < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  result.bytes.append(block.data(), static_cast<std::size_t>(got));
  if (result.bytes.size() > byte_limit) {
    ::kill(running.pid, SIGKILL);
    return false;
  }
  return got > 0;
}

// Returns when a child has sent something, when a deadline has passed, or after kMaxWait. If we
// were stopped since the last return, so were the children: their deadlines move by that time.
void wait_for_any(std::vector<pollfd>& polled,
                  std::vector<Running>& running,
                  Clock::time_point& last_return) {
  std::chrono::milliseconds longest = kMaxWait;
  for (const Running& child : running) {
    longest = std::min(longest, child.deadline.left());
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(longest.count()));
  const Clock::time_point now = Clock::now();
  const auto took = now - std::exchange(last_return, now);
  const auto late = std::chrono::floor<std::chrono::milliseconds>(took) - longest;
  if (late <= kStandstill) {
    return;
  }
  for (Running& child : running) {
    child.deadline = child.deadline.later(late);
  }
}

// Waits for any of the children, and takes what they send. A child that has ended leaves `running`.
void take_outputs(std::vector<Running>& running,
                  std::vector<IsolatedResult>& results,
                  std::size_t byte_limit,
                  Clock::time_point& last_wait) {
  std::vector<pollfd> polled;
  polled.reserve(running.size());
  for (const Running& child : running) {
    polled.push_back({child.output.get(), POLLIN, 0});
  }
  wait_for_any(polled, running, last_wait);
  std::vector<Running> still;
  for (std::size_t i = 0; i < running.size(); ++i) {
    IsolatedResult& result = results[running[i].task];
    const bool ready = polled[i].revents != 0;
    if (ready && !take_output(running[i], result, byte_limit)) {
      finish(running[i], result);
    } else if (running[i].deadline.passed()) {
      result.end = IsolatedEnd::kDeadline;
      ::kill(running[i].pid, SIGKILL);
      finish(running[i], result);
    } else {
      still.push_back(std::move(running[i]));
    }
  }
  running = std::move(still);
}

}  // namespace

struct PendingTask::Child {
  std::vector<Running> running;  // at most one
};

PendingTask::PendingTask(const IsolatedTask& task) : child_(std::make_unique<Child>()) {
  if (auto running = start(task, 0)) {
    child_->running.push_back(std::move(*running));
  }
}

PendingTask::PendingTask(PendingTask&&) noexcept = default;

PendingTask::~PendingTask() {
  if (child_ != nullptr && !child_->running.empty()) {
    IsolatedResult unused;
    unused.end = IsolatedEnd::kDeadline;
    ::kill(child_->running.front().pid, SIGKILL);
    oddrank::finish(child_->running.front(), unused);
  }
}

IsolatedResult PendingTask::finish(std::size_t byte_limit) {
  std::vector<IsolatedResult> results(1);
  Clock::time_point last_wait = Clock::now();
  while (!child_->running.empty()) {
    take_outputs(child_->running, results, byte_limit, last_wait);
  }
  return results.front();
}

std::vector<IsolatedResult> run_isolated(const std::vector<IsolatedTask>& tasks,
                                         std::size_t at_once,
                                         std::size_t byte_limit) {
  std::vector<IsolatedResult> results(tasks.size());
  std::vector<Running> running;
  std::size_t next = 0;
  Clock::time_point last_wait = Clock::now();
  while (next < tasks.size() || !running.empty()) {
    while (next < tasks.size() && running.size() < std::max<std::size_t>(at_once, 1)) {
      if (auto child = start(tasks[next], next)) {
        running.push_back(std::move(*child));
      }
      ++next;
    }
    take_outputs(running, results, byte_limit, last_wait);
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

}  // namespace oddrank
