// Ranks that should exist and have no process in the capture: who they are, and whether they are
// shown to be gone or were just not seen. Only the first is evidence.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/rank_view.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

struct MissingRanks {
  std::vector<RankView> ranks;  // sorted by rank
  // How many of them may be processes that were found and do not tell their rank.
  std::size_t may_be_found = 0;
};

// `found`: one view for each process that is a rank's own. The numbers are of nodes by their host
// names.
MissingRanks find_missing_ranks(const snapshot::Capture& capture,
                                const std::vector<RankView>& found,
                                std::size_t nodes_expected,
                                std::size_t nodes_answered);

}  // namespace oddrank::aggregate
