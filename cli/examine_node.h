// What `oddrank doctor` asks of one node: everything that a capture needs, tried once.
#pragma once

#include "cli/capture_node.h"
#include "cli/options.h"
#include "snapshot/node_health.h"

namespace oddrank::cli {

// Reads the ranks of `request` once, if there are any, and says what was missing. The answer is
// complete but for what the asker knows (host, after). Precondition: one thread (it forks).
snapshot::NodeHealth examine_node(const NodeRequest& request, const CaptureOptions& options);

}  // namespace oddrank::cli
