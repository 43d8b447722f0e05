// Folds groups of ranks that differ only by the process group in which they wait: a job of a
// thousand ranks has hundreds of process groups in each dimension, and a reader wants to see the
// dimension.
//
// Groups are alike if they are at the same frames, in the same operation, with equally many ranks,
// in process groups of one label and size (without labels: of one size and with the same distances
// between members), and the operation's root or the transfer's peer is at the same place of the
// group. The names of the process groups, their members, and their sequence numbers may differ.
// Never folded are groups that are not in a call of a communication library, or are stopped, frozen
// or crashed; nor two parts of one process group.
//
// The part of each rank in the story of a verdict. Reports colour and separate ranks by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/verdict.h"
#include "aggregate/view/groups.h"
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

// Fewer groups than this are not folded.
inline constexpr std::size_t kFewestFolded = 4;

struct Fold {
  std::vector<std::size_t> groups;  // indices; a single one is not folded
  std::string phase;                // "all_reduce in group dp#* (121 groups of 8)"; "" if not
                                    // folded

  bool is_folded() const { return groups.size() > 1; }
};

// Returns all groups, each once, in the order of reports: those with a root, those that wait for
// one directly, the others; the largest first. A group with a root is never folded, and groups that
// wait for a root directly only with each other.
std::vector<Fold> fold_groups(const JobView& view,
                              const std::vector<RankGroup>& groups,
                              const std::vector<Role>& roles);

// Returns the groups of a fold as one.
RankGroup whole_of(const std::vector<RankGroup>& groups, const Fold& fold);

}  // namespace oddrank::aggregate
