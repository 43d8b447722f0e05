// Connections of a process on which something is under way and does not get through. Private to
// waits/.
#pragma once

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Returns whether the row's timer shows that what was sent is not answered, or not taken.
bool is_in_trouble(const SocketRow& row);

// Returns for how long the retransmit timer has run, in all of its tries together. Each try takes
// twice as long as the one before, to a limit; at the limit this is less than the truth. -1: it is
// not known how long it runs this time.
std::int64_t unanswered_ms(const SocketRow& row);

// Adds the transfers of the capture's processes.
void add_transfers(const NodeEnds& node, snapshot::Capture& capture);

}  // namespace oddrank::waits
