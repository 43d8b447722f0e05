// The sends and receives that a thread may wait for, from the locals of the frames around its wait.
//
// Neither a request nor torch's Work has the other side, but the frames around it have: the list of
// P2POps of a batch, or the neighbours in a pipeline and the transfers with them.
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
  std::vector<P2pOperation> operations;  // each once; empty: nothing is known
  std::string evidence;                  // "next_rank=2 in _communicate (p2p_communication.py:318)"
};

// Returns the transfers in the first Python frame from `index` outwards that has some. `kind`: the
// direction, if it is known. The texts of groups borrow from the frames' tables.
PossibleTransfers possible_transfers(const CallFrames& frames,
                                     std::size_t index,
                                     std::optional<snapshot::CallKind> kind);

// Returns whether the function waits only for sends and receives.
bool waits_for_transfers(const CallFrames& frames, std::size_t index);

// Returns the other sides, in ascending order, each once.
std::vector<std::int32_t> peers_of(const std::vector<P2pOperation>& operations);

}  // namespace oddrank::collectives
