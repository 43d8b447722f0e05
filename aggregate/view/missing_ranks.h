// Ranks that should exist but have no process in the capture, and whether they are known to be gone
// or were just not seen. Only the former is evidence.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/rank_view.h"

namespace oddrank::aggregate {

class JobView;

struct MissingRanks {
  std::vector<RankView> ranks;  // sorted by rank
  // How many of them may be processes that were found without a rank.
  std::size_t may_be_found = 0;
};

// Finds them. `view` must already have its processes and connections, and the ranks that were
// found.
MissingRanks find_missing_ranks(const JobView& view);

}  // namespace oddrank::aggregate
