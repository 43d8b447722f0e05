// Threads whose outermost Python code was compiled to native code (by Nuitka): its frames are in
// the chain for tracebacks, but no evaluation loop runs them.
//
// Recognised by the chain, which does not end as CPython ends one. Limit: its native frames are not
// matched with its Python frames one by one.
#pragma once

#include <optional>
#include <vector>

#include "snapshot/frame.h"
#include "snapshot/tables.h"
#include "stacks/merge.h"

namespace oddrank::stacks {

// Merges so that the outermost Python frames, which no loop runs, come after all native ones, with
// a row "<compiled Python>" before them. Precondition: both stacks were read to their ends. nullopt
// if they still do not match.
std::optional<MergedFrames> merge_compiled(std::vector<snapshot::Frame> native,
                                           std::vector<snapshot::Frame> python,
                                           snapshot::Tables& tables);

}  // namespace oddrank::stacks
