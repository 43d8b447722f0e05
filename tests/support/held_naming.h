// Under Yama's ptrace_scope=1 a process may be read by others only if it names them
// (PR_SET_PTRACER). Kernels without Yama refuse that call, so tests hold the process at its system
// call, and inspect it.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace oddrank::tests {

// Holds every process that calls prctl(PR_SET_PTRACER) from now on, children included. The returned
// descriptor reports the call; -1 if the kernel knows no such filter.
inline int hold_naming_of_tracers() {
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

inline void send_fd(int socket, int fd) {
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

inline UniqueFd receive_fd(int socket) {
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

inline bool wait_readable(int fd, const Deadline& deadline) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, deadline.poll_timeout()) > 0 && (polled.revents & POLLIN) != 0;
}

}  // namespace oddrank::tests
