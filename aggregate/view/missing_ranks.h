// Ranks that should exist and have no process in the capture: who they are, and whether they are
// shown to be gone or were just not seen. Only the first is evidence.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/rank_view.h"

namespace oddrank::aggregate {

class JobView;

struct MissingRanks {
  std::vector<RankView> ranks;  // sorted by rank
  // How many of them may be processes that were found and do not tell their rank.
  std::size_t may_be_found = 0;
};

// `view` has its processes and connections, and of its ranks those that were found.
MissingRanks find_missing_ranks(const JobView& view);

}  // namespace oddrank::aggregate
