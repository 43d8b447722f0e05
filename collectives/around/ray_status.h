// Reads Ray's resources from the files of its session: pending requests, missing resources, and the
// processes that have some of them.
//
// Ray's monitor writes a status into monitor.log on the head node every five seconds (seen with Ray
// 2.60; `ray status` prints the same). Each node's raylet writes debug_state.txt every ten seconds,
// with the resources of its workers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

inline constexpr std::size_t kMaxRequests = 64;  // kinds of requests; the others are left out
inline constexpr std::size_t kMaxHolds = 4096;

// Returns the requests of the last status, in its order, without `node`, `said_ms`, `holders` and
// `source`. `pending_ms`: how long every status has listed them. `log`: the end of the file; its
// first line may be cut.
std::vector<snapshot::ResourceRequest> read_requests(std::string_view log,
                                                     snapshot::Tables& tables);

struct ResourceHold {
  pid_t pid = 0;     // in the raylet's pid namespace
  std::string name;  // of the actor's class, or the task's function
  std::string what;  // "CPU: 1, GPU: 2"
};

// Returns the resources that processes have, from debug_state.txt; lines in other forms are
// skipped. Bounded.
std::vector<ResourceHold> read_holds(std::string_view node_state);

// Returns whether the process has some of the resource, also within a placement group.
bool has_some_of(const ResourceHold& hold, std::string_view resource);

}  // namespace oddrank::collectives
