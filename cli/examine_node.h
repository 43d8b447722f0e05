// What `oddrank doctor` asks of one node: everything that a capture needs, tried once.
#pragma once

#include "aggregate/doctor.h"
#include "cli/capture_node.h"
#include "cli/options.h"

namespace oddrank::cli {

// Reads the ranks of `request` once, if there are any, and says what was missing. The answer is
// complete but for what the asker knows (host, after). Precondition: one thread (it forks).
aggregate::NodeHealth examine_node(const NodeRequest& request, const CaptureOptions& options);

}  // namespace oddrank::cli
