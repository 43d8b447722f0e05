// The part of nccl_proxies.h for CollNet: what the proxies of a head have under way. Private to
// collectives/nccl.
//
// The proxies give up to eight channels to the network together. The counts of the last of these
// are the group's own; in the order of an operation, no channel can go before one that is ahead of
// it, or by two steps before one behind it. Source: NCCL, src/transport/coll_net.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attach/target.h"
#include "collectives/nccl/nccl_layout.h"
#include "collectives/nccl/nccl_memory.h"
#include "collectives/nccl/proxy_memory.h"
#include "snapshot/connection.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

class CollnetReader {
 public:
  // Both layouts are of the same version.
  CollnetReader(const attach::Target& target,
                const NcclVariables& variables,
                const NcclProxyLayout& layout,
                const NcclLayout& communicators,
                snapshot::Tables& tables);

  // Takes an operation that is in progress. `state` is the struct ncclProxyState, `like` has what
  // is the same in all rows of a communicator, `connection` belongs to the first of the parts.
  void add(std::vector<RawSub> subs,
           const RawConnection& connection,
           attach::Addr state,
           const snapshot::CollnetHead& like);
  // Returns the rows of all operations, sorted. No row without NCCL's list of communicators (RAS).
  std::vector<snapshot::CollnetHead> run();

 private:
  // What a head shares with no other connection of its process: collNetSharedRes.
  using Shared = std::uint64_t;
  struct Op {
    std::vector<RawSub> subs;
    attach::Addr state{};
    snapshot::CollnetHead like;
    std::int32_t device = -1;
  };
  // One head's place in a rail.
  struct Place {
    std::uint64_t hash = 0;  // of the communicator
    std::int32_t position = -1;
    std::int32_t nodes = -1;
  };
  void add_rows(const Op& receive, const Op* send, const Place& place);
  // Finds the place of each rail. A split communicator shares the heads of its parent, perhaps in
  // another order; so the communicator with the smallest hash counts, which all heads find.
  void read_places();
  void read_place(attach::Addr communicator);
  std::string device_name(const Op& op) const;

  const attach::Target& target_;
  const NcclVariables& variables_;
  const NcclProxyLayout& layout_;
  const NcclLayout& communicators_;
  snapshot::Tables& tables_;
  std::map<Shared, Op> sends_;
  std::map<Shared, Op> receives_;
  std::map<Shared, Place> places_;
  std::vector<snapshot::CollnetHead> rows_;
};

}  // namespace oddrank::collectives
