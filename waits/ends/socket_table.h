// The TCP sockets of a network namespace: finds the connection of a socket's inode, and the other
// end of a connection on the same node. From the kernel's tables as text (/proc/PID/net/tcp, tcp6),
// or row by row (socket_diag.h).
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace oddrank::waits {

enum class SocketState : std::uint8_t {  // include/net/tcp_states.h
  kUnknown = 0,
  kEstablished = 1,
  kSynSent = 2,
  kCloseWait = 8,
  kListen = 10,
};

struct SocketRow {
  std::string local;  // "10.0.0.1:29500", "[fe80::1]:80"; addresses of IPv4 in IPv6 as IPv4
  std::string peer;   // "0.0.0.0:0" or "[::]:0" for a listening socket
  std::uint8_t state = 0;
  std::uint64_t unsent = 0;  // bytes that the peer has not acknowledged
  std::uint64_t unread = 0;  // bytes that have arrived and were not read
  std::uint64_t inode = 0;   // 0: no process has it: closed, or established and not yet accepted
  // The timer that runs, and how often it has run out in a row without an answer.
  std::uint8_t timer = 0;
  std::uint32_t tries = 0;
  std::uint32_t expires_ms = 0;  // until it runs out
  std::uint32_t rto_ms = 0;      // how long it runs this time; 0: not known (socket_diag.h asks)
};

// Timers of SocketRow (net/ipv4/tcp_ipv4.c, get_tcp4_sock()).
inline constexpr std::uint8_t kRetransmits = 1;
inline constexpr std::uint8_t kProbesWindow = 4;

// Returns "10.0.0.1:29500", "[fe80::1]:80"; `words` in network order (one for IPv4), `port` in the
// host's.
std::string endpoint_text(const std::array<std::uint32_t, 4>& words,
                          bool is_v6,
                          std::uint16_t port);

// The same as numbers.
struct Endpoint {
  std::uint8_t family = AF_UNSPEC;
  std::array<std::uint32_t, 4> address{};  // in network order; one word for IPv4
  std::uint16_t port = 0;                  // in network order
};
// Returns nullopt if the text is malformed.
std::optional<Endpoint> parse_endpoint(const std::string& text);

class SocketTable {
 public:
  // Adds the rows of one file. Skips malformed lines.
  void add(std::string_view text);
  // Rows beyond this are only counted.
  static constexpr std::size_t kMaxRows = 65536;
  void add(SocketRow row);

  // Returns nullptr if there is none.
  const SocketRow* by_inode(std::uint64_t inode) const;
  // Finds the socket of this node with the same two addresses, swapped.
  const SocketRow* other_end(const SocketRow& row) const;
  // Finds the socket that listens at the address of `row`, if `row` is a connection that no process
  // has accepted yet; else null.
  const SocketRow* listener_of(const SocketRow& row) const;
  std::size_t size() const { return rows_.size(); }
  std::size_t dropped() const { return dropped_; }

 private:
  std::vector<SocketRow> rows_;
  std::size_t dropped_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> by_inode_;
  std::unordered_map<std::string, std::size_t> by_ends_;  // "local peer"
};

}  // namespace oddrank::waits
