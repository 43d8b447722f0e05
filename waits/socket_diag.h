// Questions to the kernel about sockets, by netlink's sock_diag(7): all TCP sockets (its tables as
// text take it ten times as long), the other end of a local (AF_UNIX) socket, and since when
// nothing has come over a TCP connection. Nothing is sent over the sockets themselves.
#pragma once

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"
#include "waits/socket_table.h"

namespace oddrank::waits {

// Of a connection, in milliseconds; since it was made where nothing was sent or received yet.
struct TcpSilence {
  std::uint32_t sent_ms = 0;      // since it last sent data
  std::uint32_t received_ms = 0;  // since it last received data
};

class SocketDiag {
 public:
  // In the network namespace of the caller; it knows nothing of others. nullopt: not there.
  static std::optional<SocketDiag> open();

  // All TCP sockets; false where the kernel does not answer to the end.
  bool add_tcp_sockets(SocketTable& table) const;

  // The inode of the socket that the local socket `inode` is connected to. nullopt: it is no local
  // socket, it is not connected, or the other end is closed.
  std::optional<std::uint64_t> local_peer(std::uint64_t inode) const;

  // nullopt: there is no such connection (any more).
  std::optional<TcpSilence> silence(const SocketRow& row) const;

 private:
  explicit SocketDiag(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace oddrank::waits
