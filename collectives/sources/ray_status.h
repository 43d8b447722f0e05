// What Ray says of its resources in the files of its session: which requests are pending, of what
// there is too little, and which processes have some of it.
//
// Ray's monitor writes a status into monitor.log on the head node every five seconds (seen with Ray
// 2.60; `ray status` prints the same). Each node's raylet writes debug_state.txt every ten seconds,
// with what its workers have.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

inline constexpr std::size_t kMaxRequests = 64;  // kinds of them; the others are left out
inline constexpr std::size_t kMaxHolds = 4096;

// Returns the requests of the last status, in its order, without `node`, `said_ms`, `holders` and
// `source`. `pending_ms`: for how long every status has had them. `log`: the end of the file; its
// first line may be cut.
std::vector<snapshot::ResourceRequest> read_requests(std::string_view log,
                                                     snapshot::Tables& tables);

struct ResourceHold {
  pid_t pid = 0;     // in the raylet's pid namespace
  std::string name;  // of the actor's class, or the task's function
  std::string what;  // "CPU: 1, GPU: 2"
};

std::vector<ResourceHold> read_holds(std::string_view node_state);

// Returns whether some of the resource is among what is held, be it within a placement group.
bool has_some_of(const ResourceHold& hold, std::string_view resource);

}  // namespace oddrank::collectives
