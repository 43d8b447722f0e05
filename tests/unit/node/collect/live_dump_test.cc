// The two ways to make a rank dump, spoken to a socket and a pipe of this process.
#include "node/collect/live_dump.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/read_file.h"
#include "base/unique_fd.h"
#include "tests/support/scratch_folder.h"

namespace oddrank::node {
namespace {

UniqueFd listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), 1) == 0);
  return fd;
}

struct Exchange {
  std::string request;
  Result<std::string> answer;
};

// Queries a control plane that answers every request with `reply`.
Exchange ask(const std::string& reply) {
  const test::ScratchFolder folder;
  const UniqueFd server = listen_at(folder.path("socket"));
  std::string request;
  std::thread plane([&] {
    const UniqueFd peer(::accept(server.get(), nullptr, nullptr));
    std::array<char, 4096> piece{};
    while (request.find("\r\n\r\n") == std::string::npos) {
      const auto got = ::recv(peer.get(), piece.data(), piece.size(), 0);
      if (got <= 0) {
        return;
      }
      request.append(piece.data(), static_cast<std::size_t>(got));
    }
    (void)::send(peer.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
  });
  auto answer = ask_worker(::getpid(), folder.path("socket"), "fr_trace_json",
                           Deadline::after(std::chrono::seconds(45)));
  ::shutdown(server.get(), SHUT_RDWR);  // ends accept() if no client came
  plane.join();
  return {std::move(request), std::move(answer)};
}

TEST_CASE("the control plane's handler is requested, and its body is the answer") {
  const Exchange exchange = ask("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"a\": \r\n\r\n1}");
  CHECK(exchange.request.find("POST /handler/fr_trace_json HTTP/1.0\r\n") == 0);
  REQUIRE(exchange.answer);
  CHECK(*exchange.answer == "{\"a\": \r\n\r\n1}");
}

TEST_CASE("a control plane without the handler differs from a broken one") {
  CHECK(ask("HTTP/1.1 404 Not Found\r\n\r\n").answer.error().code == Errc::kNotFound);
  CHECK(ask("SSH-2.0-OpenSSH_9.2\r\n\r\n").answer.error().code == Errc::kBadData);
  CHECK(ask("HTTP/1.1 200 OK\r\n").answer.error().code == Errc::kBadData);
  CHECK(ask("").answer.error().code == Errc::kBadData);
}

TEST_CASE("a control plane that does not answer is given up at the deadline") {
  const test::ScratchFolder folder;
  const UniqueFd server = listen_at(folder.path("socket"));
  const auto answer = ask_worker(::getpid(), folder.path("socket"), "fr_trace_json",
                                 Deadline::after(std::chrono::milliseconds(20)));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kTimeout);
}

TEST_CASE("a file that is no socket is not connected to") {
  const test::ScratchFolder folder;
  const Deadline deadline = Deadline::after(std::chrono::seconds(45));
  const auto ask_at = [&](const std::string& path) {
    return ask_worker(::getpid(), path, "fr_trace_json", deadline);
  };
  CHECK(ask_at(folder.path("none")).error().code == Errc::kNotFound);
  CHECK(ask_at(folder.put("file", "x")).error().code == Errc::kUnsupported);
}

TEST_CASE("a pipe with a reader gets one byte") {
  const test::ScratchFolder folder;
  const std::string path = folder.path("rank0.pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(poke_pipe(::getpid(), path).error().code == Errc::kNotFound);  // no reader
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader.valid());
  REQUIRE(poke_pipe(::getpid(), path));
  std::array<char, 8> bytes{};
  CHECK(::read(reader.get(), bytes.data(), bytes.size()) == 1);
}

TEST_CASE("a file where the pipe should be is left alone") {
  const test::ScratchFolder folder;
  const std::string path = folder.put("rank0.pipe", "precious");
  CHECK(poke_pipe(::getpid(), path).error().code == Errc::kUnsupported);
  CHECK(read_file(path) == "precious");
  CHECK(poke_pipe(::getpid(), folder.path("none")).error().code == Errc::kNotFound);
}

}  // namespace
}  // namespace oddrank::node
