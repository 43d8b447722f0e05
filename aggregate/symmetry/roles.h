// The part of each rank in the story of a verdict. Reports colour and separate ranks by it.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

enum class Role : std::uint8_t {
  kElsewhere = 0,  // no path of waits leads from it to a root
  kRoot,           // a culprit, one of another story (`also`), or an end of a broken link
  kDirect,         // waits for a root, with no other rank in between
  kIndirect,       // waits for a root by way of other ranks
};

// Returns the role of each rank of the view, by its index. All are elsewhere if the verdict names
// no rank.
std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict);

}  // namespace oddrank::aggregate
