// A TCP connection to a process that the agent does not see, on another node or in another
// container: its two addresses. The process at the other end has them swapped, so the two ends can
// be matched. Also any connection whose data does not get through: the kernel sends it again and
// again, or the other end takes nothing.
//
// Source: the kernel's table of sockets (net/ipv4/tcp_ipv4.c, net/ipv4/inet_diag.c of Linux 6.18).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

// Return "10.0.0.1" and "29500" for "10.0.0.1:29500".
constexpr std::string_view address_part(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}
constexpr std::string_view port_part(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : address.substr(colon + 1);
}

struct Connection {
  StringId local{};  // "10.0.0.1:43210", "[fe80::1]:80"
  StringId peer{};

  bool operator==(const Connection&) const = default;
};

enum class TransferTrouble : std::uint8_t {
  kUnanswered = 0,  // what was sent is not acknowledged, and is sent again (retransmit timer)
  kNotTaken,        // the other end's window is closed: its process does not read (window probes)
};

struct Transfer {
  StringId local{};  // as Connection::local
  StringId peer{};
  StringId device{};  // through which packets to the peer leave: "eth0"; empty: not known
  TransferTrouble trouble = TransferTrouble::kUnanswered;
  bool connecting = false;   // the connection is not made yet
  std::uint32_t tries = 0;   // in a row, all without an answer
  std::int64_t age_ms = -1;  // since the first of them, at least; -1: not known
  std::uint64_t unsent = 0;  // bytes that the peer has not acknowledged
  // Bytes since the connection was made; -1: not known. If one end has received more than is
  // acknowledged at the other end, acknowledgements are lost, not data.
  std::int64_t acknowledged = -1;
  std::int64_t received = -1;
  // The process of this node that has the other end; 0: none, or unknown.
  pid_t peer_pid = 0;

  bool operator==(const Transfer&) const = default;
};

// What NCCL's proxy thread has under way over the network, for one connection to another rank.
// Steps are pieces of a call's data; both ends of a connection count them alike, over all calls.
//
//   sender:   `posted` (room offered to the GPU) >= `passed` (filled by the GPU, given to the
//             network) >= `done` (the network is finished with it)
//   receiver: `posted` (room offered to the network) >= `passed` (arrived) >= `done` (taken by the
//             GPU)
//
// Transfers over NVLink and within a host have no proxy, or none that is of interest here. NVLS has
// none of its own: between hosts it sends as a tree does, or by CollNet.
// Source: NCCL, src/transport/net.cc (sendProxyProgress, recvProxyProgress), 2.26 to 2.32.
struct ProxyTransfer {
  // The communicator, as a text that is the same on all of its members; the ranks below are its
  // own. A communicator that was split from another one counts as the latter.
  StringId group{};
  std::int32_t rank = -1;  // that the proxy works for: on the same node, not always in its process
  std::int32_t peer = -1;
  std::int32_t size = -1;  // members of the communicator
  bool sends = false;
  // The connection's number between its two ranks, the same at both ends: 0 for collectives, 1 for
  // sends.
  std::int32_t index = 0;
  // A receiver's `passed` counts steps before their data has arrived, as the LL protocols do not
  // check.
  bool early = false;
  std::uint64_t channels = 0;  // bit N: channel N, with these numbers
  std::uint64_t still = 0;     // channels that have the same numbers at the end of the capture
  std::int64_t posted = 0;
  std::int64_t passed = 0;
  std::int64_t done = 0;
  std::int64_t end = 0;  // of the call
  StringId network{};    // "IB", "Socket", or as its plugin says; empty: not known
  StringId device{};     // of the network: "mlx5_2", "eth0"; empty: not known

  bool operator==(const ProxyTransfer&) const = default;
};

// What NCCL's proxies of one head have under way in a collective that the network itself computes
// (CollNet; with SHARP the switches add up). On each host a few GPUs are heads; the heads at the
// same place on all hosts are one rail, and a step of a rail ends when all of its heads have given
// theirs. Steps are counted alike on all heads, over all calls:
//
//   `filled` (by the GPU) >= `given` (to the network) >= `returned` (the result is there) >=
//   `taken` (by the GPU), and `given` <= `offered` (room for the result)
//
// Source: NCCL, src/transport/coll_net.cc (sendProxyProgress, recvProxyProgress), 2.26 to 2.30;
// later ones by the debug information of NVIDIA's libraries.
struct CollnetHead {
  StringId rail{};          // a text that is the same on all of the rail's heads
  StringId group{};         // as ProxyTransfer::group
  std::int32_t size = -1;   // members of the communicator
  std::int32_t head = -1;   // number in the rail
  std::int32_t heads = -1;  // how many the rail has: one on each host
  // As in ProxyTransfer. Channels that NCCL gives to the network together have the same numbers,
  // those of the last to be filled.
  std::uint64_t channels = 0;
  std::uint64_t still = 0;
  std::int64_t filled = 0;
  std::int64_t offered = 0;
  std::int64_t given = 0;
  std::int64_t returned = 0;
  std::int64_t taken = 0;
  std::int64_t end = 0;  // of the call
  StringId device{};     // of the network, as NCCL's log has it: "SHARP 2"; empty: not known

  bool operator==(const CollnetHead&) const = default;
};

// A process that has made a communicator's id runs its root: a thread that waits until all members
// have told it their addresses, and is gone then. Ranks are the communicator's own.
struct BootstrapRoot {
  std::int32_t size = -1;  // members of the communicator
  // Members that this root waits for: all of them, unless there are several roots.
  std::int32_t awaited = -1;
  std::int32_t came = -1;  // how many of these have come; -1: not known
  // The root keeps no note of a member that came after both of its neighbours: it looks like one
  // that has not come. These are `unclear`, unless their number decides.
  StringId absent{};  // lists of ranks (snapshot/rank_text.h); empty: none
  StringId unclear{};

  bool operator==(const BootstrapRoot&) const = default;
};

}  // namespace oddrank::snapshot
