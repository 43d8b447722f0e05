// Folds groups of ranks that differ only by the process group in which they wait: a job of a
// thousand ranks has hundreds of them in each dimension, and a reader wants to see the dimension.
//
// Groups are alike if they are at the same frames, in the same operation, in process groups of one
// label and size (or, if these have no label, of one size and with the same distances between
// their members), with equally many ranks, and if the root of the operation or the peer of a
// transfer is at the same place of the group. The names of the process groups, their members, and
// their sequence numbers may differ. Groups that are not in a call of a communication library, are
// stopped, frozen or have crashed are never folded; nor are two parts of one process group.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/symmetry/roles.h"
#include "aggregate/view/groups.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Fewer groups than this that are alike are shown as they are.
inline constexpr std::size_t kFewestFolded = 4;

struct Fold {
  std::vector<std::size_t> groups;  // indices; if it is one, that group stands for itself
  std::string phase;                // "all_reduce in group dp#* (121 groups of 8)"; "" of one group

  bool is_folded() const { return groups.size() > 1; }
};

// Returns all groups, each once, in the order in which reports show them: those with a root, those
// that wait for one directly, the others; of each, the one with the most ranks first. A group with
// a root is never folded, and those that wait for a root directly only with each other.
std::vector<Fold> fold_groups(const JobView& view,
                              const std::vector<RankGroup>& groups,
                              const std::vector<Role>& roles);

// Returns the groups of a fold as one.
RankGroup whole_of(const std::vector<RankGroup>& groups, const Fold& fold);

}  // namespace oddrank::aggregate
