// Rows of a capture from what NCCL tells of its communicators, by its RAS service or out of memory.
#pragma once

#include "collectives/sources/ras_answer.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Without its members. `tables`: where the capture's texts are.
snapshot::RasCommunicator communicator_row(const collectives::RasAnswer& answer,
                                           const collectives::RasGroup& group,
                                           snapshot::Tables& tables);

// What is told of a member; which process of which host it is, is for the caller to say.
snapshot::RasRank member_row(const collectives::RasMember& member);

// Adds the communicators of one capture to another's.
void carry_communicators(const snapshot::Capture& from, snapshot::Capture& into);

}  // namespace oddrank::node
