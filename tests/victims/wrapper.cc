// Starts a program and waits until it exits: `wrapper HOW PROGRAM ARGUMENT...`. HOW:
//   wait      waitpid()
//   signalfd  poll() of a signalfd
//   pidfd     epoll of a pidfd
//   threads   like programs with Rust's tokio: the main thread sleeps on a condition variable, a
//             second one in epoll of a pipe that a handler of SIGCHLD writes to, others are idle
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kIdleThreads = 3;

std::array<int, 2> ends = {-1, -1};

void on_child(int /*signal*/) {
  const char byte = 1;
  (void)!::write(ends[1], &byte, 1);
}

void wait_readable(int fd) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  while (::epoll_wait(epoll, &event, 1, -1) != 1) {
  }
}

void wait_in_threads() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  const auto idle = [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended; });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kIdleThreads; ++i) {
    threads.emplace_back(idle);
  }
  threads.emplace_back([&] {
    wait_readable(ends[0]);
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  });
  idle();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return 2;
  }
  const std::string how = arguments[1];
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  int file = -1;
  if (how == "signalfd") {
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    file = ::signalfd(-1, &children, SFD_CLOEXEC);
  } else if (how == "threads") {
    std::signal(SIGCHLD, on_child);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_UNBLOCK, &children, nullptr);
    ::execvp(arguments[2], arguments + 2);
    ::_exit(127);
  }
  if (how == "signalfd") {
    pollfd waited{file, POLLIN, 0};
    ::poll(&waited, 1, -1);
  } else if (how == "pidfd") {
    wait_readable(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  } else if (how == "threads") {
    wait_in_threads();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
