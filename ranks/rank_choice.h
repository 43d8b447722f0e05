// Which processes of a tree are the ranks' own. The first half of rank_tree.h's rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

using JobRank = std::pair<std::string, std::int32_t>;  // a job, and a rank of it

struct RankChoice {
  // Indices into the tree. The tree's identities of these have their final `job`.
  std::vector<std::size_t> ranks;
  // Carry the variables of one of `ranks` but began earlier: left over from another run.
  std::vector<std::size_t> leftovers;
};

// Completes identities (job) and drops those that only name the place of a launcher.
RankChoice choose_ranks(ProcessTree& tree, const DiscoverOptions& options);

}  // namespace oddrank::ranks
