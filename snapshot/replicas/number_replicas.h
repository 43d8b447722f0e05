// Numbers the ranks of all replicas consecutively: each replica has its own rank 0, and groups and
// calls with its own numbers. (Which processes are replicas of one job: ranks/replicas.h.)
#pragma once

#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// The groups of torchft's calls, for which no process has objects: all ranks meet at the
// lighthouse, and ranks with the same number in each replica exchange gradients.
inline constexpr std::string_view kLighthouse = "lighthouse";
inline constexpr std::string_view kAcrossReplicas = "across replicas";

// Returns whether the group, which a call names, is one of these.
constexpr bool is_of_replicas(std::string_view group) {
  return group == kLighthouse || group == kAcrossReplicas;
}

// The label of a replica's default group.
inline constexpr std::string_view kDefaultOfReplica = "default of its replica";

// Gives the ranks of all replicas consecutive numbers in the job, and each a label with its place.
// The groups, calls and recorders of these processes get the same numbers, and the default group of
// a replica becomes a group of its ranks. Replicas follow each other in the order of their
// variables REPLICA_GROUP_ID, or else as they were started, node by node; the same name with the
// same ranks on another node is another replica. Call it once all calls are known, and again if
// more nodes have been added.
void number_replicas(Capture& capture);

// Returns the number of ranks of the largest job with replicas; -1 if there is none.
std::int32_t ranks_of_replicas(const Capture& capture);

}  // namespace oddrank::snapshot
