#include "watch/watch_start.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/deadline.h"
#include "base/isolated.h"
#include "base/log.h"
#include "base/result.h"

namespace oddrank::watch {
namespace {

// Far more than needed. Without an answer the command runs unwatched.
constexpr std::chrono::milliseconds kStartPatience{10000};
constexpr int kNiceness = 10;

// Since Linux 5.3; glibc 2.36 has a function for it.
int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

// Closes descriptors that the command inherits (a launcher's pipes, for instance): we must not keep
// them open.
void leave_files_alone(int keep) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  close_inherited(keep);
}

// The memory of captures counts against the rank's cgroup. If it runs out, the watcher and its
// readers must be killed first. Raising the score needs no privilege.
void go_first_when_memory_ends() {
  const UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t written = ::write(score.get(), "1000", 4);
}

// A launcher sends signals to every process of a job. Most concern only the command; the watch's
// own signals must not arrive before it can handle them (watch.cc).
void prepare_signals() {
  for (const int number : {SIGHUP, SIGQUIT, SIGALRM, SIGUSR2}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t later;
  ::sigemptyset(&later);
  ::sigaddset(&later, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &later, nullptr);
}

// Runs the watcher's first steps and sends its pid when it is ready.
BesideCommand begin_watching(pid_t command, int ready) {
  ::setsid();
  prepare_signals();
  // ranks/process_role.h recognises by this name that it is not a rank, whatever its program's
  // name.
  ::prctl(PR_SET_NAME, "oddrank-watch", 0UL, 0UL, 0UL);
  leave_files_alone(ready);
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  go_first_when_memory_ends();
  BesideCommand beside;
  beside.pid = command;
  beside.end = UniqueFd(open_pidfd(command));
  const pid_t self = ::getpid();
  [[maybe_unused]] const ssize_t sent = ::write(ready, &self, sizeof self);
  ::close(ready);
  return beside;
}

// Returns the pid that the watcher sends; nothing if it does not arrive in time.
std::optional<pid_t> await_watcher(int ready) {
  pollfd polled{ready, POLLIN, 0};
  const Deadline deadline = Deadline::after(kStartPatience);
  while (::poll(&polled, 1, deadline.poll_timeout()) < 0 && errno == EINTR) {
  }
  pid_t pid = 0;
  const bool got = polled.revents != 0 && ::read(ready, &pid, sizeof pid) == sizeof pid;
  return got ? std::optional(pid) : std::nullopt;
}

}  // namespace

std::optional<BesideCommand> split_off_watcher() {
  const pid_t command = ::getpid();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    log_line(LogLevel::kWarning, "the command is not watched: no pipe: " + errno_text(errno));
    return std::nullopt;
  }
  UniqueFd ready(ends[0]);
  UniqueFd say_ready(ends[1]);
  const pid_t middle = ::fork();
  if (middle == 0) {
    // It exits at once, so that init reaps the watcher.
    if (::fork() != 0) {
      ::_exit(0);
    }
    ready.reset();
    return begin_watching(command, say_ready.release());
  }
  say_ready.reset();
  if (middle > 0) {
    while (::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (const auto watcher = middle > 0 ? await_watcher(ready.get()) : std::nullopt) {
    // Fails without Yama, but then it is not needed.
    ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(*watcher), 0UL, 0UL, 0UL);
  } else {
    log_line(LogLevel::kWarning, "the command is not watched: the watcher did not start");
  }
  return std::nullopt;
}

int become_command(char** argv, bool ignored_broken_pipe) {
  ::signal(SIGPIPE, ignored_broken_pipe ? SIG_IGN : SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::execvp(argv[0], argv);
  const int reason = errno;
  log_line(LogLevel::kError, "cannot run " + std::string(argv[0]) + ": " + errno_text(reason));
  return reason == ENOENT ? 127 : 126;
}

bool has_ended(const BesideCommand& command) {
  if (command.end.valid()) {
    pollfd polled{command.end.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }
  // kill(2) still finds a zombie; its parent will reap it. Heuristic: a pid that is reused between
  // two samples keeps the watcher alive.
  return ::kill(command.pid, 0) != 0 && errno == ESRCH;
}

}  // namespace oddrank::watch
