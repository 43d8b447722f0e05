// The stacks of all leaders in one tree, outermost frame at the root, with the ranks that went each
// way: the picture that people look at. Native and Python frames together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/job_view.h"

namespace oddrank::aggregate {

struct TreeNode {
  ShownFrame frame;                   // of the root: empty
  std::vector<std::int32_t> ranks;    // ascending; ranks without a number are left out
  std::size_t count = 0;              // of processes, also those without a rank number
  std::vector<std::size_t> children;  // indices of PrefixTree::nodes, most ranks first
  std::string key;                    // what makes frames equal: name, file, line
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
