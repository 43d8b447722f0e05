// The checks of `oddrank doctor` on one node: everything that a capture needs, tried once.
#pragma once

#include "node/capture_node.h"
#include "node/read_options.h"
#include "snapshot/node_health.h"

namespace oddrank::node {

// Reads the ranks of `request` once, if there are any, and returns the result of each check. The
// caller fills in `host` and `after`. Precondition: one thread (it forks).
snapshot::NodeHealth examine_node(const NodeRequest& request, const CaptureOptions& options);

}  // namespace oddrank::node
