#include "report/tree/prefix_tree.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "report/tree/temporal_order.h"

namespace oddrank::report {
namespace {

using aggregate::RankView;
using aggregate::ShownFrame;

std::size_t child_of(PrefixTree& tree, std::size_t parent, const ShownFrame& frame) {
  const std::string key = fmt::format("{}|{}", frame.name, frame.place());
  for (const std::size_t child : tree.nodes[parent].children) {
    if (tree.nodes[child].key == key) {
      return child;
    }
  }
  TreeNode node;
  node.frame = frame;
  node.key = key;
  tree.nodes.push_back(std::move(node));
  tree.nodes[parent].children.push_back(tree.nodes.size() - 1);
  return tree.nodes.size() - 1;
}

void count_rank(TreeNode& node, std::int32_t rank) {
  ++node.count;
  if (rank >= 0) {
    node.ranks.push_back(rank);
  }
}

}  // namespace

PrefixTree build_prefix_tree(const aggregate::JobView& view) {
  PrefixTree tree;
  tree.nodes.emplace_back();
  for (const RankView& rank : view.ranks()) {
    if (rank.sample() == nullptr) {
      continue;
    }
    const auto& frames = view.model().fold(*rank.sample()).frames;
    std::size_t at = 0;
    count_rank(tree.nodes[at], rank.rank);
    for (std::size_t frame = frames.size(); frame > 0; --frame) {
      at = child_of(tree, at, frames[frame - 1]);
      count_rank(tree.nodes[at], rank.rank);
    }
  }
  for (TreeNode& node : tree.nodes) {
    std::stable_sort(node.children.begin(), node.children.end(),
                     [&tree](std::size_t a, std::size_t b) {
                       return tree.nodes[a].count > tree.nodes[b].count;
                     });
  }
  order_in_time(view, tree);
  return tree;
}

std::vector<TreeWay> ways_of(const PrefixTree& tree) {
  std::vector<TreeWay> ways;
  std::vector<TreeWay> todo = {{{0}, tree.nodes.front().count, tree.nodes.front().ranks}};
  while (!todo.empty()) {
    TreeWay way = std::move(todo.back());
    todo.pop_back();
    const TreeNode& node = tree.nodes[way.nodes.back()];
    for (std::size_t place = node.children.size(); place > 0; --place) {
      const std::size_t child = node.children[place - 1];
      TreeWay further{way.nodes, tree.nodes[child].count, tree.nodes[child].ranks};
      further.nodes.push_back(child);
      way.count -= further.count;
      std::vector<std::int32_t> rest;
      std::set_difference(way.ranks.begin(), way.ranks.end(), further.ranks.begin(),
                          further.ranks.end(), std::back_inserter(rest));
      way.ranks = std::move(rest);
      todo.push_back(std::move(further));
    }
    way.nodes.erase(way.nodes.begin());
    if (way.count > 0 && !way.nodes.empty()) {
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

std::string ranks_at_end(const TreeWay& way) {
  constexpr std::size_t kWidth = 60;
  return way.ranks.empty() ? std::string()
                           : fmt::format("{} {}", way.ranks.size() == 1 ? "rank" : "ranks",
                                         aggregate::format_ranks_within(way.ranks, kWidth));
}

}  // namespace oddrank::report
