// Questions to the kernel about sockets, by netlink's sock_diag(7): all TCP sockets (its tables as
// text take it ten times as long), the other end of a local (AF_UNIX) socket, and since when
// nothing has come over a TCP connection. Nothing is sent over the sockets themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/unique_fd.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// Of a connection, in milliseconds; since it was made where nothing was sent or received yet.
struct TcpSilence {
  std::uint32_t sent_ms = 0;      // since it last sent data
  std::uint32_t received_ms = 0;  // since it last received data
};

// Inodes of local (AF_UNIX) sockets, and of the sockets that they are connected to; 0: to none, or
// the other end is closed.
using LocalSockets = std::unordered_map<std::uint64_t, std::uint64_t>;

class SocketDiag {
 public:
  // In the network namespace of the caller; it knows nothing of others. nullopt: not there.
  static std::optional<SocketDiag> open();

  // All TCP sockets; false where the kernel does not answer to the end.
  bool add_tcp_sockets(SocketTable& table) const;

  // All of them: the kernel looks through all for each question about one. nullopt: it does not
  // answer to the end.
  std::optional<LocalSockets> local_sockets() const;

  // nullopt: there is no such connection (any more).
  std::optional<TcpSilence> silence(const SocketRow& row) const;

 private:
  explicit SocketDiag(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace oddrank::waits
