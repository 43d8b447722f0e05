// Reads the kernel's data on the sockets of a node's processes: tables of TCP connections, and for
// each socket that a thread waits for, its other end and how long it has been silent. Private to
// waits/.
#pragma once

#include <cstdint>
#include <set>

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Fills in the sockets of NodeEnds; `node.ends` already has the sockets of the capture's processes.
// Returns the inodes of the other ends, on this node, of the sockets that threads wait for.
std::set<std::uint64_t> read_sockets(const snapshot::Capture& capture, NodeEnds& node);

}  // namespace oddrank::waits
