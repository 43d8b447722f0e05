// Reads from NCCL's own memory the transfers of its proxy threads over the network: for each
// connection to another rank, the steps that the GPU, the network and the other side have finished;
// and the same for collectives that the network itself computes (CollNet).
//
// No thread is stopped: the numbers are ordinary words of the host's memory. The process may be
// running; a row whose numbers contradict each other is dropped. Source: NCCL, src/include/proxy.h,
// src/proxy.cc, src/transport/net.cc and coll_net.cc, 2.26 to 2.32.
#pragma once

#include <span>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "collectives/nccl/nccl_memory.h"
#include "snapshot/connection.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

struct NcclProxies {
  std::vector<snapshot::ProxyTransfer> transfers;
  std::vector<snapshot::CollnetHead> heads;
};

// Returns what all communicators have under way, sorted; channels with equal numbers are one row.
// Empty if nothing is under way, which is normal. At most 256 rows of each sort. kUnsupported: the
// layout of that version is unknown. `what` is one line without the process.
Result<NcclProxies> read_nccl_proxies(const attach::Target& target,
                                      const NcclVariables& variables,
                                      snapshot::Tables& tables);

// Set `still` of the earlier rows to the channels whose numbers are the same in the later ones.
void compare_proxies(std::span<const snapshot::ProxyTransfer> later,
                     std::span<snapshot::ProxyTransfer> earlier);
void compare_heads(std::span<const snapshot::CollnetHead> later,
                   std::span<snapshot::CollnetHead> earlier);

}  // namespace oddrank::collectives
