// Under Yama's ptrace_scope=1 the watcher may read the command only because the command's process
// permits it. Kernels without Yama refuse that call, so nothing else would notice if it were
// missing or came too late: the test holds the process at its system call, and inspects it.
#include "watch/watch_start.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/deadline.h"
#include "base/read_file.h"
#include "base/split.h"
#include "tests/support/catch.h"

namespace oddrank::watch {
namespace {

constexpr int kCommandEnds = 7;

// Holds every process that calls prctl(PR_SET_PTRACER) from now on, children included. The returned
// descriptor reports the call; -1 if the kernel knows no such filter.
int hold_naming_of_tracers() {
  const std::uint32_t first_argument = offsetof(seccomp_data, args);
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, first_argument),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

void send_fd(int socket, int fd) {
  std::array<char, CMSG_SPACE(sizeof fd)> space{};
  char byte = fd >= 0 ? 'y' : 'n';
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  ::sendmsg(socket, &message, 0);
}

UniqueFd receive_fd(int socket) {
  std::array<char, CMSG_SPACE(sizeof(int))> space{};
  char byte = 0;
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  int fd = -1;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message) != nullptr) {
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  }
  return UniqueFd(fd);
}

bool wait_readable(int fd, const Deadline& deadline) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, deadline.poll_timeout()) > 0 && (polled.revents & POLLIN) != 0;
}

// Runs in a child: both processes in which split_off_watcher() returns exit here.
[[noreturn]] void split_off(int socket) {
  send_fd(socket, hold_naming_of_tracers());
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
  const UniqueFd held = receive_fd(ours.get());
  if (!held.valid()) {
    ::waitpid(command, nullptr, 0);
    ODDRANK_SKIP("the kernel has no seccomp filters that tell another process");
  }
  seccomp_notif call{};
  const bool named = wait_readable(held.get(), deadline) &&
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
