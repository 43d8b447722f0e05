// Where NCCL's data stands if all ranks are inside of their call: on a link, or before a GPU. A
// transfer has two ends, and each says which side it waits for. The solver follows these waits like
// the waits of ranks, up to an end that waits for no other.
//
// Both ends count the steps of a connection alike, whatever the call. So a step that the sender has
// given to the network, and for which the receiver has made room, is on the link until it arrives.
// If the sender's GPU could fill a step and waits for no other data, the step waits for that GPU; a
// step that has arrived waits for the receiver's GPU.
//
// Data over NVLink has no proxy, so it is not known which GPU of a host with several ranks it is.
// Source: NCCL, src/transport/net.cc (2.26 to 2.32).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct ProxyStall {
  enum class Kind : std::uint8_t {
    kLink = 0,  // from the first of `ranks` to the second
    kDevice,    // the GPU of one of `ranks`, all on one host, takes nothing that has come
    kSilent,    // the same, but nothing has come from it, and it waits for nothing
    kNetwork,  // all heads of a rail (CollNet) have given it steps, which `ranks` have not got back
  };

  Kind kind = Kind::kLink;
  bool sure = true;  // else it is one of several listed stalls, and it is not known which
  std::vector<std::size_t> ranks;  // indices of JobView::ranks()
  bool by_error = false;           // of the GPUs of its host, the only one that has failed (Xid)
  bool sockets = false;            // of a link: NCCL's network is TCP
  std::size_t heads = 0;           // of a network: how many the rail has
  // Names in the network, at both ends; if it is a rail, only the first one. "": not known.
  std::array<std::string, 2> devices;
  std::size_t channels = 0;          // on which data stands
  std::int64_t steps = 0;            // on the link, or arrived and not taken
  std::vector<std::size_t> waiters;  // ranks that need it to go on, ascending
};

// Return "GPU of rank 3 (n1)" or "a GPU of ranks 0-7 (n1)"; and "8 steps have arrived on 2 channels
// of NCCL, and it has taken none".
std::string device_words(const JobView& view, const ProxyStall& stall);
std::string device_evidence(const ProxyStall& stall);
// Returns "in the network itself (CollNet, SHARP 2): all 4 heads have given it 8 steps on 2
// channels, and ranks 0,8 (n0, n1) have not got them back".
std::string network_words(const JobView& view, const ProxyStall& stall);

// Returns how long its waiters have stood in their calls, at least; -1: not known.
std::int64_t age_of_stall_ms(const JobView& view, const ProxyStall& stall);

struct ProxyWaits {
  std::vector<ProxyStall> stalls;  // those that most ranks need first; empty if nothing is known
  // Ranks whose GPU, or another one of their host, waits for data, or for room for its own.
  std::set<std::size_t> waiting;
};

// Returns whether NCCL's network is TCP there ("Socket" is NCCL's own name for it).
inline bool is_over_sockets(const JobView& view, const snapshot::ProxyTransfer& row) {
  return view.text(row.network) == "Socket";
}

// Returns nothing if the data moves.
ProxyWaits find_proxy_waits(const JobView& view);

}  // namespace oddrank::aggregate
