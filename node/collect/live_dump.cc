#include "node/collect/live_dump.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "attach/files/open_named.h"
#include "base/unique_fd.h"

namespace oddrank::node {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{256} << 20;

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
  ODDRANK_TRY(const attach::NamedFiles files, attach::NamedFiles::of(pid));
  ODDRANK_TRY(const UniqueFd fd, files.connect_to(path));
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
  ODDRANK_TRY(const attach::NamedFiles files, attach::NamedFiles::of(pid));
  ODDRANK_TRY(const UniqueFd fd, files.open_pipe(path));
  if (::write(fd.get(), "1", 1) != 1) {
    return fail(errno_code(errno), "cannot write to " + path + ": " + errno_text(errno));
  }
  return ok();
}

}  // namespace oddrank::node
