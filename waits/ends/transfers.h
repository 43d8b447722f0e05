// Connections of a process on which something is under way and does not get through. Private to
// waits/.
#pragma once

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Returns whether the row's timer shows that sent data is not acknowledged, or not taken.
bool is_in_trouble(const SocketRow& row);

// Returns for how long the retransmit timer has run, in all of its tries together. Each try takes
// twice as long as the one before, up to a limit; there, this is less than the truth. -1: `rto_ms`
// is unknown.
std::int64_t unanswered_ms(const SocketRow& row);

// Adds the transfers of the capture's processes.
void add_transfers(const NodeEnds& node, snapshot::Capture& capture);

}  // namespace oddrank::waits
