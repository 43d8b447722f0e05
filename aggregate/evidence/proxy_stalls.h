// Where NCCL's data stands, of jobs in which all ranks are inside of their call: on a link, or
// before a GPU. A transfer has two ends, and each says which side it waits for; these waits are
// followed as those of ranks are, by the same solver, up to the one that waits for nobody.
//
// Both ends count the steps of a connection alike, whatever the call. So a step that the sender has
// given to the network, and for which the receiver has made room, is on the link until it arrives.
// A step that the sender's GPU could fill, and for which it waits for no other data, is that GPU's
// to fill; one that has arrived is the receiver's GPU's to take.
//
// What goes over NVLink has no proxy, so that of several ranks on one host it is not known whose
// GPU it is. Source: NCCL, src/transport/net.cc (2.26 to 2.32).
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
    kDevice,    // of one of `ranks`, all of one host: it takes nothing that has come
    kSilent,    // the same: nothing has come from it, and it waits for nothing
  };

  Kind kind = Kind::kLink;
  bool sure = true;  // else it is one of those that are listed, and it is not known which
  std::vector<std::size_t> ranks;      // indices of JobView::ranks()
  bool sockets = false;                // of a link: NCCL's network is TCP
  std::array<std::string, 2> devices;  // of the network, at both ends; "": not known
  std::size_t channels = 0;            // on which it stands
  std::int64_t steps = 0;              // that are on the link, or have come and are not taken
  std::vector<std::size_t> waiters;    // ranks that need it to go on, ascending
};

// Return "GPU of rank 3 (n1)", or of several "a GPU of ranks 0-7 (n1)"; and "8 steps have
// arrived on 2 channels of NCCL, and it has taken none".
std::string device_words(const JobView& view, const ProxyStall& stall);
std::string device_evidence(const ProxyStall& stall);

// Returns how long its waiters have stood in their calls, at least; -1: not known.
std::int64_t age_of_stall_ms(const JobView& view, const ProxyStall& stall);

struct ProxyWaits {
  std::vector<ProxyStall> stalls;  // what most ranks need first; none if nothing can be said
  // Ranks whose GPU, or another one of their host, waits for data, or for room for its own.
  std::set<std::size_t> waiting;
};

// Returns whether NCCL's network is TCP there ("Socket" is NCCL's own name for it).
inline bool is_over_sockets(const JobView& view, const snapshot::ProxyTransfer& row) {
  return view.text(row.network) == "Socket";
}

// Nothing if the data moves.
ProxyWaits find_proxy_waits(const JobView& view);

}  // namespace oddrank::aggregate
