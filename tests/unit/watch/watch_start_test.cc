// Under Yama's ptrace_scope=1 the watcher may read the command only because the command's process
// permits it. Kernels without Yama refuse that call, so nothing else would notice if it were
// missing or came too late: the test holds the process at its system call, and inspects it.
#include "watch/watch_start.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/deadline.h"
#include "base/read_file.h"
#include "base/split.h"
#include "tests/support/catch.h"
#include "tests/support/held_naming.h"

namespace oddrank::watch {
namespace {

constexpr int kCommandEnds = 7;

// Runs in a child: both processes in which split_off_watcher() returns exit here.
[[noreturn]] void split_off(int socket) {
  tests::send_fd(socket, tests::hold_naming_of_tracers());
  const auto beside = split_off_watcher();
  if (beside) {
    const Deadline deadline = Deadline::after(std::chrono::seconds(60));
    while (!has_ended(*beside) && !deadline.passed()) {
      ::usleep(1000);
    }
  }
  ::_exit(beside ? 0 : kCommandEnds);
}

TEST_CASE("the command's process names the watcher as the one that may read it, before it begins") {
  std::array<int, 2> sockets{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  const UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  const pid_t command = ::fork();
  if (command == 0) {
    split_off(theirs.get());
  }
  theirs.reset();
  const Deadline deadline = Deadline::after(std::chrono::seconds(30));
  const UniqueFd held = tests::receive_fd(ours.get());
  if (!held.valid()) {
    ::waitpid(command, nullptr, 0);
    ODDRANK_SKIP("the kernel has no seccomp filters that tell another process");
  }
  seccomp_notif call{};
  const bool named = tests::wait_readable(held.get(), deadline) &&
                     ::ioctl(held.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0;
  const auto watcher = static_cast<pid_t>(call.data.args[1]);
  const std::string folder = "/proc/" + std::to_string(watcher);
  const std::string name(trim(read_file(folder + "/comm", 64).value_or("")));
  const pid_t session = ::getsid(watcher);
  seccomp_notif_resp answer{};
  answer.id = call.id;
  answer.error = -EINVAL;  // the answer of a kernel without Yama
  const bool answered = named && ::ioctl(held.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
  if (!answered) {
    ::kill(command, SIGKILL);
  }
  int status = 0;
  ::waitpid(command, &status, 0);
  REQUIRE(named);
  CHECK(static_cast<pid_t>(call.pid) == command);
  CHECK(watcher != command);
  CHECK(name == "oddrank-watch");
  CHECK(session == watcher);
  CHECK(answered);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kCommandEnds);
}

}  // namespace
}  // namespace oddrank::watch
