// The stacks of all leaders in one tree, outermost frame at the root, with the ranks that went each
// way: the picture that people look at. Native and Python frames together. Where a counter of the
// program tells which way is behind (temporal_order.h), that one comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct TreeNode {
  ShownFrame frame;                 // of the root: empty
  std::vector<std::int32_t> ranks;  // ascending; ranks without a number are left out
  std::size_t count = 0;            // of processes, also those without a rank number
  // Indices of PrefixTree::nodes: in the order of time where it is known, else most ranks first.
  std::vector<std::size_t> children;
  std::string key;      // what makes frames equal: name, file, line
  std::string counter;  // "step=1206": what tells its place among its siblings; "" = nothing does
  bool behind = false;  // by that counter: no sibling is further behind
};

struct PrefixTree {
  std::vector<TreeNode> nodes;  // [0] is the root
};

PrefixTree build_prefix_tree(const JobView& view);

// A way from the root to where ranks stand: the nodes, outermost first, without the root.
struct TreeWay {
  std::vector<std::size_t> nodes;
  std::size_t count = 0;  // of those that stand at its end
};

std::vector<TreeWay> ways_of(const PrefixTree& tree);

}  // namespace oddrank::aggregate
