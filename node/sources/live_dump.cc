#include "node/sources/live_dump.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"

namespace oddrank::node {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{256} << 20;

// Finds the file as the process would, without opening it (O_PATH).
Result<UniqueFd> find_below(pid_t pid, const std::string& path, mode_t type) {
  const std::string root = "/proc/" + std::to_string(pid) + "/root";
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail(errno_code(errno), "cannot open " + root + ": " + errno_text(errno));
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd found(
      static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
  if (!found.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  struct stat info {};
  if (::fstat(found.get(), &info) != 0 || (info.st_mode & S_IFMT) != type) {
    return fail(Errc::kUnsupported,
                path + (type == S_IFSOCK ? " is not a socket" : " is not a pipe"));
  }
  return found;
}

Result<UniqueFd> connect_to(const UniqueFd& found, const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "/proc/self/fd/" + std::to_string(found.get());
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(errno_code(errno), "cannot connect to " + path + ": " + errno_text(errno));
  }
  return fd;
}

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, deadline.poll_timeout()) > 0;
}

Result<std::string> exchange(const UniqueFd& fd,
                             std::string_view request,
                             const Deadline& deadline) {
  while (!request.empty()) {
    const auto sent = ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      request.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN || !wait_for(fd.get(), POLLOUT, deadline)) {
      return fail(Errc::kIo, "cannot send the request to the control plane");
    }
  }
  std::string answer;
  std::array<char, 65536> piece{};
  while (answer.size() < kMaxAnswer) {
    const auto got = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (got == 0) {
      return answer;
    }
    if (got > 0) {
      answer.append(piece.data(), static_cast<std::size_t>(got));
    } else if (errno != EAGAIN || !wait_for(fd.get(), POLLIN, deadline)) {
      return fail(deadline.passed() ? Errc::kTimeout : Errc::kIo,
                  "the control plane did not answer in time");
    }
  }
  return fail(Errc::kBadData, "the control plane's answer does not end");
}

}  // namespace

Result<std::string> ask_worker(pid_t pid,
                               const std::string& path,
                               const std::string& handler,
                               const Deadline& deadline) {
  ODDRANK_TRY(const UniqueFd found, find_below(pid, path, S_IFSOCK));
  ODDRANK_TRY(const UniqueFd fd, connect_to(found, path));
  // Version 1.0, so that the answer is one piece and the connection ends with it.
  const std::string request = "POST /handler/" + handler +
                              " HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n"
                              "Connection: close\r\n\r\n";
  ODDRANK_TRY(std::string answer, exchange(fd, request, deadline));
  const auto body = answer.find("\r\n\r\n");
  const std::string_view status = std::string_view(answer).substr(0, answer.find("\r\n"));
  if (body == std::string::npos || !status.starts_with("HTTP/1.")) {
    return fail(Errc::kBadData, path + " does not speak HTTP");
  }
  if (status.find(" 200") == std::string_view::npos) {
    return fail(Errc::kNotFound, path + " has no " + handler);
  }
  answer.erase(0, body + 4);
  return answer;
}

Status poke_pipe(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const UniqueFd found, find_below(pid, path, S_IFIFO));
  const std::string again = "/proc/self/fd/" + std::to_string(found.get());
  // Without a reader this fails (ENXIO) rather than waits.
  const UniqueFd fd(::open(again.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), "1", 1) != 1) {
    return fail(errno == ENXIO ? Errc::kNotFound : errno_code(errno),
                "cannot write to " + path + ": " + errno_text(errno));
  }
  return ok();
}

}  // namespace oddrank::node
