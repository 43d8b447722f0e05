#include "aggregate/report_dot.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "aggregate/groups.h"
#include "aggregate/job_view.h"
#include "aggregate/prefix_tree.h"
#include "aggregate/printable.h"
#include "aggregate/rank_set.h"
#include "aggregate/wait_graph.h"

namespace oddrank::aggregate {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result + '"';
}

std::string group_label(const JobView& view, const Group& group) {
  std::vector<std::int32_t> ranks;
  for (const std::size_t at : group.ranks) {
    ranks.push_back(view.ranks()[at].rank);
  }
  const std::string set = format_ranks_within(ranks, 40);
  return set.empty() ? JobView::name(view.ranks()[group.ranks.front()])
                     : fmt::format("{}: {}", count_of(group.ranks.size(), "rank"), set);
}

// Ranks that stand at the same place are one node, or a job of thousands would be unreadable.
std::string wait_cluster(const JobView& view) {
  const WaitGraph graph = build_wait_graph(view);
  std::string text = "  subgraph cluster_waits {\n    label=\"who waits for whom\";\n";
  std::map<std::size_t, std::string> name;
  const std::vector<Group> groups = find_groups(view);
  for (std::size_t at = 0; at < groups.size(); ++at) {
    text += fmt::format("    g{} [shape=box, label={}];\n", at,
                        quoted(group_label(view, groups[at]) + " | " + groups[at].phase));
    for (const std::size_t rank : groups[at].ranks) {
      name[rank] = fmt::format("g{}", at);
    }
  }
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (name.contains(node)) {
      continue;
    }
    name[node] = fmt::format("n{}", node);
    const bool process = graph.nodes[node].kind == NodeKind::kProcess;
    const bool rank = graph.nodes[node].kind == NodeKind::kRank;
    text += fmt::format("    n{} [shape={}, label={}];\n", node,
                        rank || process ? "box" : "ellipse", quoted(graph.nodes[node].label));
  }
  std::set<std::tuple<std::string, std::string, bool>> drawn;
  for (const GraphEdge& edge : graph.edges) {
    if (drawn.emplace(name[edge.from], name[edge.to], edge.assumed).second) {
      text += fmt::format("    {} -> {}{};\n", name[edge.from], name[edge.to],
                          edge.assumed ? " [style=dashed]" : "");
    }
  }
  return text + "  }\n";
}

std::string tree_cluster(const JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  std::string text = "  subgraph cluster_stacks {\n    label=\"where they are\";\n";
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const ShownFrame& frame = tree.nodes[at].frame;
    const std::string label = at == 0 ? "all" : fmt::format("{} {}", frame.name, frame.place());
    text += fmt::format("    t{} [label={}];\n", at, quoted(label));
  }
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    for (const std::size_t child : tree.nodes[at].children) {
      const TreeNode& next = tree.nodes[child];
      text += fmt::format(
          "    t{} -> t{} [label={}];\n", at, child,
          quoted(fmt::format("{}: {}", next.count, format_ranks_within(next.ranks, 30))));
    }
  }
  return text + "  }\n";
}

}  // namespace

std::string report_dot(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  return "digraph oddrank {\n  rankdir=LR;\n  node [shape=plain, fontname=\"monospace\"];\n" +
         wait_cluster(view) + tree_cluster(view) + "}\n";
}

}  // namespace oddrank::aggregate
