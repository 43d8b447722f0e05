// What the kernel says of the sockets of a node's processes: tables of TCP connections, and of each
// socket that a thread waits for, its other end and how long it has been silent. Private to waits/.
#pragma once

#include <cstdint>
#include <set>

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// `node.ends` has the sockets of the capture's processes already; the rest of what NodeEnds says of
// sockets is filled in. Returns the inodes of the other ends, on this node, of those that are
// waited for.
std::set<std::uint64_t> read_sockets(const snapshot::Capture& capture, NodeEnds& node);

}  // namespace oddrank::waits
