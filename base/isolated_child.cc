#include "base/isolated_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>
#include <string>

#include "base/log.h"
#include "base/proc/held_up.h"
#include "base/read_file.h"

namespace oddrank {
namespace {

// The exit status of a child that ran out of memory.
constexpr int kOutOfMemory = 86;
// Sent to a child instead of the index of a task. Closing the socket would not be enough: children
// that were forked later also have it open.
constexpr std::size_t kNoMore = SIZE_MAX;

// Waits for a child that exits or was killed; nullopt if it does not in that time.
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

bool send_index(int channel, std::size_t index) {
  return ::send(channel, &index, sizeof index, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof index);
}

// Returns the index of the task to run next (in the child).
std::size_t next_index(int channel) {
  std::size_t index = kNoMore;
  ssize_t got = 0;
  do {
    got = ::read(channel, &index, sizeof index);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof index) ? index : kNoMore;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) != 0;
#else
constexpr bool kSanitized = false;
#endif

// Closes our stdout and stderr: a child in state D would have them open as long as its file system
// does not answer, and their reader (srun, a pipe) would wait for their end. Only -v and sanitizers
// need them.
void leave_outputs() {
  const bool says_something = log_enabled(LogLevel::kInfo) || kSanitized;
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (null.valid()) {
    ::dup2(null.get(), STDOUT_FILENO);
    if (!says_something) {
      ::dup2(null.get(), STDERR_FILENO);
    }
  }
}

}  // namespace

void IsolatedChild::run(
    std::span<const IsolatedTask> tasks, std::size_t index, int output, int channel, pid_t parent) {
  // If we die, no reader that holds a target may stay behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);
  }
  // The parent handles Ctrl-C at the terminal: it still uses what we can send.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  leave_outputs();
  confine(tasks[index].may);
  try {
    tasks[index].run(output);
    while (channel >= 0 && send_index(channel, index)) {
      index = next_index(channel);
      if (index >= tasks.size()) {
        break;
      }
      tasks[index].run(output);
    }
  } catch (const std::bad_alloc&) {
    ::_exit(kOutOfMemory);
  }
  ::_exit(0);
}

std::optional<IsolatedChild> IsolatedChild::start(std::span<const IsolatedTask> tasks,
                                                  std::size_t index) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  IsolatedChild child;
  child.output_ = UniqueFd(ends[0]);
  UniqueFd input(ends[1]);
  UniqueFd its_channel;
  if (tasks[index].owner != kNoOwner &&
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0) {
    child.channel_ = UniqueFd(ends[0]);
    its_channel = UniqueFd(ends[1]);
  }
  child.begin(tasks[index], index);
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ < 0) {
    return std::nullopt;
  }
  if (child.pid_ == 0) {
    run(tasks, index, input.get(), its_channel.get(), parent);
  }
  return child;
}

void IsolatedChild::begin(const IsolatedTask& task, std::size_t index) {
  task_ = index;
  started_ = Deadline::Clock::now();
  runs_.clear();
  slept_ = started_;
  timeout_ = task.timeout;
  deadline_ = Deadline::after(task.timeout);
}

bool IsolatedChild::give(const IsolatedTask& task, std::size_t index) {
  begin(task, index);
  return send_index(channel_.get(), index);
}

std::chrono::microseconds IsolatedChild::age() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - started_);
}

bool IsolatedChild::held_up() const {
  constexpr std::chrono::milliseconds kLong{250};
  if (age() < kLong || done() < 0) {
    return false;
  }
  const auto stat = read_file("/proc/" + std::to_string(pid_) + "/stat", 4096);
  const auto name_end = stat ? stat->rfind(") ") : std::string::npos;
  return name_end != std::string::npos && (*stat)[name_end + 2] != 'R';
}

std::string IsolatedChild::silent_file() {
  constexpr std::chrono::milliseconds kShortest{2000};  // a page takes a second on a busy node
  const std::chrono::milliseconds patience = std::max(timeout_ / 5, kShortest);
  if (age() < patience / 2) {
    return {};
  }
  const auto now = Deadline::Clock::now();
  const auto runs = read_file("/proc/" + std::to_string(pid_) + "/schedstat", 128);
  if (!runs || *runs != runs_) {
    runs_ = runs.value_or("");
    slept_ = now;
  }
  return now - slept_ < patience ? std::string() : held_up_by(pid_);
}

bool IsolatedChild::take_output(IsolatedResult& result, std::size_t limit) const {
  std::array<char, 65536> block;  // not cleared: most answers are small
  const ssize_t got = ::read(output_.get(), block.data(), block.size());
  if (got < 0) {
    return errno == EINTR || errno == EAGAIN;
  }
  result.bytes.append(block.data(), static_cast<std::size_t>(got));
  if (result.bytes.size() > limit) {
    kill();
    return false;
  }
  return got > 0;
}

bool IsolatedChild::take_waiting(IsolatedResult& result, std::size_t limit) const {
  pollfd polled{output_.get(), POLLIN, 0};
  while (::poll(&polled, 1, 0) > 0) {
    if (!take_output(result, limit)) {
      return false;
    }
  }
  return true;
}

bool IsolatedChild::take_rest(IsolatedResult& result, std::size_t limit) const {
  std::size_t index = kNoMore;
  const ssize_t got = ::recv(channel_.get(), &index, sizeof index, MSG_DONTWAIT);
  if (got != static_cast<ssize_t>(sizeof index) || index != task_) {
    return false;  // it is gone, which the end of its output tells
  }
  return take_waiting(result, limit);
}

void IsolatedChild::kill() const {
  ::kill(pid_, SIGKILL);
}

void IsolatedChild::finish(IsolatedResult& result) {
  if (channel_.valid()) {
    send_index(channel_.get(), kNoMore);
  }
  // A child that closed its pipe is about to exit, which may take a while on a loaded machine; one
  // that was killed at its deadline may be in state D for good.
  const std::chrono::milliseconds patience(result.end == IsolatedEnd::kNotRun ? 1000 : 50);
  auto status = reap(pid_, patience);
  if (!status) {  // it closed its pipe and still does not exit
    kill();
    status = reap(pid_, patience);
  }
  if (result.end != IsolatedEnd::kNotRun) {
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

}  // namespace oddrank
