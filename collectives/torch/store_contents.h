// The keys of a TCPStore of torch.distributed, from the memory of the process that serves it: which
// ones are set, and which ones clients wait for. Values are not read; they may be anything.
//
//   stack of the thread pt_tcpstore, pt_tcpstore_uv   points to its
//   -> c10d::detail::TCPStoreMasterDaemon, LibUVStoreDaemon   has, one behind the other,
//      std::unordered_map<std::string, std::vector<std::uint8_t>> tcpStore_        what is set
//      std::unordered_map<std::string, std::vector<client>> waitingSockets_             the waiters
//
// Source: torch/csrc/distributed/c10d/TCPStore{Backend,LibUvBackend}.cpp. The daemon is recognised
// by its class, the maps by their shape; seen with torch 2.13, both backends. A client that polls
// check() does not wait. Keys have the prefixes of all PrefixStores; the store does not know which
// client has set a key.
#pragma once

#include <vector>

#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Sets process.store, sorted by name; leaves it if the target serves no store, or one with too many
// keys. `threads`: as they were when their stacks were read.
void collect_store(const attach::Target& target,
                   const std::vector<attach::ThreadState>& threads,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
