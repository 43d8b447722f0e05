// The sends and receives that a thread may wait for, from the locals of the frames around its wait.
//
// Neither a request nor torch's Work says from whom it is. The frames around it do: the list of
// P2POps that a batch was made of, or the neighbours in a pipeline and what is exchanged with them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/call_frames.h"
#include "collectives/group_join.h"
#include "snapshot/collective_call.h"

namespace oddrank::collectives {

struct PossibleTransfers {
  std::vector<P2pOperation> operations;  // different ones; empty: nothing is known
  std::string evidence;                  // "next_rank=2 in _communicate (p2p_communication.py:318)"
};

// Looks at the Python frames from `index` outwards, up to the first that tells. `kind`: the
// direction, if it is known. The texts of groups borrow from the frames' tables.
PossibleTransfers possible_transfers(const CallFrames& frames,
                                     std::size_t index,
                                     std::optional<snapshot::CallKind> kind);

// Returns whether the function waits for nothing but sends and receives.
bool waits_for_transfers(const CallFrames& frames, std::size_t index);

// Returns the other sides, in ascending order, each once.
std::vector<std::int32_t> peers_of(const std::vector<P2pOperation>& operations);

}  // namespace oddrank::collectives
