// Links between ranks that do not carry: connections on which the kernel sends the same data again
// and again without an answer, and those on which NCCL's data does not arrive (proxy_stalls.h).
//
// A rank's own code has no part in that: the other end's kernel acknowledges what arrives even if
// its processes are stopped. So the link, or the other host, is to blame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/evidence/proxy_stalls.h"
#include "aggregate/evidence/slots.h"
#include "aggregate/view/job_view.h"
#include "snapshot/connection.h"

namespace oddrank::aggregate {

// Which data is lost.
enum class LossWay : std::uint8_t {
  kUnknown = 0,  // only one end was read: its data or the acknowledgements
  kOneWay,       // what the first end sends
  kBoth,
};

struct StuckLink {
  struct End {
    std::size_t rank = 0;  // index of JobView::ranks()
    // The rank is known by exclusion: no process that was read has the address, and all unread
    // ranks are on one host. `rank` is the first of these, and this is their number. 0: it is
    // known.
    std::size_t by_exclusion = 0;
    std::string address;  // of the oldest connection: "10.0.0.1:80"; "" if NCCL's
    std::string device;   // of the network: "eth0"; "": not known
    const snapshot::Transfer* transfer = nullptr;  // what it sends in vain; null: nothing
  };

  // The first one sends in vain; if both do, and only one way is known to lose data, for longer.
  std::array<End, 2> ends;
  LossWay way = LossWay::kUnknown;
  std::size_t connections = 0;  // stuck ones between the two ranks; of NCCL: channels
  std::int64_t age_ms = -1;     // of the oldest; of NCCL: of the calls at its ends; -1: not known
  // NCCL's steps that were given to the network and have not arrived, and the ranks that need them;
  // else 0 and empty.
  std::int64_t steps = 0;
  bool adapters = false;  // of NCCL: its devices are adapters (InfiniBand, RoCE), not interfaces
  std::vector<std::size_t> waiters;
};

// Data that a process does not read: its window is closed.
struct UnreadData {
  std::size_t from = 0;  // indices of JobView::ranks()
  std::size_t to = 0;    // the rank that does not read
  const snapshot::Transfer* transfer = nullptr;
};

// Returns the data that ranks send to each other and do not read.
std::vector<UnreadData> find_unread_data(const JobView& view);

// Returns one link for each pair of ranks, ordered by ranks.
std::vector<StuckLink> find_stuck_links(const JobView& view);
// Returns the link on which the data of NCCL stands.
StuckLink stuck_link_of(const JobView& view, const ProxyStall& stall);

// Returns whether the call cannot end before the link carries: one end is in it, and the other one
// is a member.
bool is_between_members(const Slot& slot, const StuckLink& link);

// Returns whether what is lost is no larger than the packets that each host must take (576 bytes,
// RFC 791): then it is lost for another reason than its size. False if not known.
bool loses_small(const StuckLink& link);

// Returns "rank 1 -> rank 2"; "-" if both ways lose, or which one does is not known.
std::string link_names(const JobView& view, const StuckLink& link);
// Returns the same as "rank 1 (n1 eth0 10.0.0.1) -> rank 2 (n2 eth0 10.0.0.2)".
std::string link_words(const JobView& view, const StuckLink& link);

// Returns "before the GPU of rank 3 (n1, pid 77)", "on the link rank 3 (n1 mlx5_0) -> rank 4 (n2)",
// or network_words().
std::string stall_place(const JobView& view, const ProxyStall& stall);

// Returns "96 bytes sent 5 times in vain for 12 s, by both ends", or of NCCL "4 steps given to the
// network on 2 channels have not arrived for 12 s".
std::string tries_words(const StuckLink& link);
// Returns the same behind "TCP 10.0.0.1:80 - 10.0.0.2:4711: ", or "NCCL: ".
std::string link_evidence(const StuckLink& link);

}  // namespace oddrank::aggregate
