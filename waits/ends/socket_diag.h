// Queries the kernel about sockets with netlink's sock_diag(7): all TCP sockets (ten times faster
// than the tables as text), the other end of a local (AF_UNIX) socket, and how long a TCP
// connection has been silent and what it has carried. Sends nothing over the sockets themselves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/unique_fd.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// What the kernel counts for a connection. Times count from its start if nothing was sent or
// received yet.
struct TcpInfo {
  std::uint32_t sent_ms = 0;       // since it last sent data
  std::uint32_t received_ms = 0;   // since it last received data
  std::uint32_t rto_ms = 0;        // how long its retransmit timer runs this time
  std::int64_t acknowledged = -1;  // bytes of its data; -1: not known (Linux before 4.1)
  std::int64_t received = -1;      // bytes in order; -1: not known
};

struct LocalSocket {
  std::uint64_t peer = 0;  // inode of the other end; 0: not connected, or it is closed
  bool listens = false;
  bool queued = false;  // `peer` listens, and has not accepted this connection yet
};
// The local (AF_UNIX) sockets by inode.
using LocalSockets = std::unordered_map<std::uint64_t, LocalSocket>;

class SocketDiag {
 public:
  // Opens it in the network namespace of the caller, the only one it sees. Returns nullopt if it is
  // not available.
  static std::optional<SocketDiag> open();
  // Opens it in the network namespace of a process, if the caller may enter that (root).
  static std::optional<SocketDiag> open_beside(pid_t pid);

  // Adds all TCP sockets; returns false if the kernel's answer is incomplete.
  bool add_tcp_sockets(SocketTable& table) const;
  // Adds only those that listen. The kernel keeps them apart, so it does not walk over the table of
  // connections, which has half a million places on a large machine.
  bool add_listening_sockets(SocketTable& table) const;

  // Returns all local sockets, since a query for one makes the kernel walk over all; nullopt if its
  // answer is incomplete.
  std::optional<LocalSockets> local_sockets() const;

  // Returns nullopt if the connection does not exist (any more).
  std::optional<TcpInfo> info(const SocketRow& row) const;

 private:
  explicit SocketDiag(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace oddrank::waits
