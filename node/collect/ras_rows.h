// Makes rows of a capture from the communicators in NCCL's RAS service or memory.
#pragma once

#include "collectives/nccl/ras_answer.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Returns the row of a communicator, without its members. `tables`: of the capture.
snapshot::RasCommunicator communicator_row(const collectives::RasAnswer& answer,
                                           const collectives::RasGroup& group,
                                           snapshot::Tables& tables);

// Returns the row of a member; the caller fills in its process and host.
snapshot::RasRank member_row(const collectives::RasMember& member);

// Adds the communicators of one capture to another's.
void carry_communicators(const snapshot::Capture& from, snapshot::Capture& into);

}  // namespace oddrank::node
