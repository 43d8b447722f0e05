// Groups of ranks at the same place, by the folded stacks of the deciders.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct RankGroup {
  std::vector<std::size_t> ranks;  // indices of JobView::ranks(), ascending
  std::string phase;               // of its first rank
  FoldedStack stack;               // of its first rank's decider; empty if nothing was read
  std::string state;               // state letters of its ranks, each once: "S", "RS"
};

// Returns the letter by which groups tell states apart. Ranks at the same place in different states
// (stopped there, waiting there) are in different groups. R and S count as the same state: a rank
// that waits by spinning alternates between them.
char state_class(char state);

// Returns the groups, largest first; among equals, the one with the lowest rank. Ranks about which
// nothing is known are left out (they are listed as unread).
std::vector<RankGroup> find_groups(const JobView& view);

}  // namespace oddrank::aggregate
