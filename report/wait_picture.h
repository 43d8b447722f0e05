// The wait-for graph as drawn: ranks at the same place are one node. Groups that differ only by
// their process group are one node, too, and so are their calls; otherwise large jobs would be
// unreadable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/symmetry/fold_groups.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::report {

struct PictureNode {
  aggregate::NodeKind kind = aggregate::NodeKind::kRank;  // kRank: ranks at the same place
  std::string label;                                      // "7 ranks: 0-4,6-7"
  std::string phase;  // for ranks: their activity; for a link: what does not get through
  std::vector<std::size_t> ranks;  // for ranks: indices of JobView::ranks()
};

struct PictureEdge {
  std::size_t from = 0;  // the node that waits
  std::size_t to = 0;
  std::string on;  // the wait of the first edge that this one represents
  bool assumed = false;
};

struct WaitPicture {
  std::vector<PictureNode> nodes;      // ranks first, in the order in which reports show groups
  std::vector<PictureEdge> edges;      // each pair once
  std::vector<aggregate::Role> roles;  // by rank of the view
};

// Returns the graph of the view's waits; the verdict decides the roles of ranks.
WaitPicture wait_picture(const aggregate::JobView& view, const aggregate::Verdict& verdict);

}  // namespace oddrank::report
