// The stacks of all deciding threads in one tree, with the outermost frame at the root and the
// ranks on each branch. If a counter of the program shows which branch is behind
// (temporal_order.h), that branch comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

struct TreeNode {
  aggregate::ShownFrame frame;      // the root's is empty
  std::vector<std::int32_t> ranks;  // ascending; ranks without a number are left out
  std::size_t count = 0;            // number of processes, also of those without a rank number
  // Indices of PrefixTree::nodes: in the order of time if it is known, else most ranks first.
  std::vector<std::size_t> children;
  std::string key;      // equal for equal frames: name, file, line
  std::string counter;  // "step=1206": the counter that decides its place among its siblings; "" =
                        // none
  bool behind = false;  // by that counter: no sibling is further behind
};

struct PrefixTree {
  std::vector<TreeNode> nodes;  // [0] is the root
};

// Returns the tree, with children in their final order (temporal_order.h).
PrefixTree build_prefix_tree(const aggregate::JobView& view);

// A path from the root to a place where ranks are: the nodes, outermost first, without the root.
struct TreeWay {
  std::vector<std::size_t> nodes;
  std::size_t count = 0;            // number of ranks at its end
  std::vector<std::int32_t> ranks;  // their numbers, if they have some, ascending
};

// Returns one path for each place where ranks are, in the order of the tree.
std::vector<TreeWay> ways_of(const PrefixTree& tree);

// Returns "ranks 0-4,6-7", cut to 60 columns; "" if none has a number.
std::string ranks_at_end(const TreeWay& way);

}  // namespace oddrank::report
