#include "collectives/nccl/ras_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/parse_number.h"
#include "base/unique_fd.h"

namespace oddrank::collectives {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHandshake{1000};
constexpr int kMaxRequests = 4;
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;
constexpr std::size_t kMaxLineOfRas = 1024;

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, deadline.poll_timeout()) > 0;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<Address> parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(std::string_view(text).substr(colon + 1));
  if (!port) {
    return std::nullopt;
  }
  Address address;
  const std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(*port);
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) != 1) {
      return std::nullopt;
    }
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
    return address;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(*port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) {
    return std::nullopt;
  }
  std::memcpy(&address.storage, &v4, sizeof v4);
  address.size = sizeof v4;
  return address;
}

class Connection {
 public:
  static Result<Connection> open(const Address& address, const Deadline& deadline);
  // Sends a line, which is short enough for the socket's buffer.
  Status send_line(std::string_view line);
  Result<std::string> read_line(const Deadline& deadline);
  Result<std::string> read_rest(const Deadline& deadline);

 private:
  explicit Connection(UniqueFd fd) : fd_(std::move(fd)) {}

  enum class Got : std::uint8_t { kMore, kEnd };

  Result<Got> read_some(const Deadline& deadline);

  UniqueFd fd_;
  std::string buffer_;
};

Result<Connection> Connection::open(const Address& address, const Deadline& deadline) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail(Errc::kIo, "cannot make a socket: " + errno_text(errno));
  }
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), target, address.size) != 0 && errno != EINPROGRESS) {
    return fail(Errc::kNotFound, "cannot connect: " + errno_text(errno));
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (!wait_for(fd.get(), POLLOUT, deadline) ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    return fail(error == 0 ? Errc::kTimeout : Errc::kNotFound,
                "cannot connect" + (error == 0 ? "" : ": " + errno_text(error)));
  }
  return Connection(std::move(fd));
}

Status Connection::send_line(std::string_view line) {
  const std::string bytes = std::string(line) + "\n";
  const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) {
    return fail(Errc::kIo, "cannot send the request");
  }
  return ok();
}

Result<std::string> Connection::read_line(const Deadline& deadline) {
  while (true) {
    const auto end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMaxLineOfRas) {
      return fail(Errc::kBadData, "the service sends a line that does not end");
    }
    ODDRANK_TRY(const Got got, read_some(deadline));
    if (got == Got::kEnd) {
      return fail(Errc::kBadData, "the service closed the connection");
    }
  }
}

Result<std::string> Connection::read_rest(const Deadline& deadline) {
  while (buffer_.size() < kMaxAnswer) {
    ODDRANK_TRY(const Got got, read_some(deadline));
    if (got == Got::kEnd) {
      return std::move(buffer_);
    }
  }
  return fail(Errc::kBadData, "the service's answer does not end");
}

Result<Connection::Got> Connection::read_some(const Deadline& deadline) {
  std::array<char, 16384> piece{};
  while (true) {
    const auto got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got >= 0) {
      buffer_.append(piece.data(), static_cast<std::size_t>(got));
      return got > 0 ? Got::kMore : Got::kEnd;
    }
    if (errno != EAGAIN && errno != EINTR) {
      return fail(Errc::kIo, "the connection broke: " + errno_text(errno));
    }
    if (deadline.passed() || !wait_for(fd_.get(), POLLIN, deadline)) {
      return fail(Errc::kTimeout, "no answer in time");
    }
  }
}

// Returns a connection whose server has answered the greeting.
Result<Connection> greet(const Address& address, const Deadline& deadline) {
  Error last{Errc::kTimeout, "no answer in time", ""};
  for (int tries = 0; tries < kMaxRequests && !deadline.passed(); ++tries) {
    const Deadline patience = deadline.at_most(kHandshake);
    auto connection = Connection::open(address, patience);
    if (!connection) {
      return fail(std::move(connection).error());
    }
    ODDRANK_TRY_STATUS(connection->send_line("CLIENT PROTOCOL 2"));
    const auto hello = connection->read_line(patience);
    if (hello && hello->starts_with("SERVER PROTOCOL ")) {
      return std::move(*connection);
    }
    if (hello) {
      return fail(Errc::kBadData, "the service is not RAS");
    }
    last = hello.error();
    if (last.code != Errc::kTimeout) {
      break;
    }
  }
  return fail(std::move(last));
}

Result<RasReply> question(const Address& address, const Deadline& deadline) {
  ODDRANK_TRY(Connection connection, greet(address, deadline));
  RasReply reply;
  // Before 2.28.7: "ERROR: Unknown command".
  ODDRANK_TRY_STATUS(connection.send_line("SET FORMAT json"));
  ODDRANK_TRY(const std::string accepted, connection.read_line(deadline));
  reply.json = accepted.starts_with("OK");
  ODDRANK_TRY_STATUS(connection.send_line("VERBOSE STATUS"));
  ODDRANK_TRY(reply.text, connection.read_rest(deadline));
  return reply;
}

Result<Address> address_of(const std::string& text) {
  const auto parsed = parse_address(text);
  return parsed ? Result<Address>(*parsed) : fail(Errc::kUsage, "'" + text + "' is not an address");
}

}  // namespace

Result<RasReply> ask_ras(const std::string& address, const Deadline& deadline) {
  ODDRANK_TRY(const Address parsed, address_of(address));
  auto reply = question(parsed, deadline);
  if (!reply) {
    return fail(std::move(reply).error().in("RAS at " + address));
  }
  return reply;
}

Status greet_ras(const std::string& address, const Deadline& deadline) {
  ODDRANK_TRY(const Address parsed, address_of(address));
  const auto connection = greet(parsed, deadline);
  return connection ? ok() : fail(Error(connection.error()).in("RAS at " + address));
}

}  // namespace oddrank::collectives
