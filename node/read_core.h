// One core file, as it is read in a child of its own: who the process was, stacks, waits.
#pragma once

#include <string>

#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// A capture with one node (where the process ran; "" if that is unknown) and one process. What the
// reader of a report should know of the core is in the node's notes. An Error only for what is no
// core file that can be read at all. May block where a file system does; see base/isolated.h.
Result<snapshot::Capture> read_core(const std::string& path,
                                    const std::string& sysroot,
                                    const ReadOptions& options);

}  // namespace oddrank::node
