// Reads one core file, in a child of its own: its rank, its stacks, its waits.
#pragma once

#include <string>

#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Returns a capture with one node (where the process ran; "" if that is unknown) and one process.
// Notes about the core for the reader of a report are in the node's notes. Fails only if the file
// cannot be read as a core. May block if a file system does; see base/isolated.h.
Result<snapshot::Capture> read_core(const std::string& path,
                                    const std::string& sysroot,
                                    const ReadOptions& options);

}  // namespace oddrank::node
