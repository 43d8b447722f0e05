// Threads whose outermost Python code a compiler (Nuitka) has made native code of: its frames are
// in the chain, so that tracebacks have them, but no evaluation loop runs them.
//
// Known from the chain: it does not end as CPython ends one. Honest limit: its native frames are
// not matched with its Python frames one by one.
#pragma once

#include <optional>
#include <vector>

#include "snapshot/frame.h"
#include "snapshot/tables.h"
#include "stacks/merge.h"

namespace oddrank::stacks {

// Merges with the outermost Python frames, those of no loop, behind all native ones; a row
// "<compiled Python>" stands before them. Both stacks are read to their ends. nullopt if they still
// do not match.
std::optional<MergedFrames> merge_compiled(std::vector<snapshot::Frame> native,
                                           std::vector<snapshot::Frame> python,
                                           snapshot::Tables& tables);

}  // namespace oddrank::stacks
