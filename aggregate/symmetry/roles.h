// Which part each rank has in the story of a verdict: what reports colour and keep apart.
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
  kDirect,         // waits for a root; no other rank is in between
  kIndirect,       // waits for a root by way of other ranks
};

// Returns the role of each rank of the view, by its index. All are elsewhere if the verdict names
// nobody.
std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict);

}  // namespace oddrank::aggregate
