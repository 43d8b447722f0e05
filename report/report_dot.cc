#include "report/report_dot.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "aggregate/view/rank_set.h"
#include "report/tree/prefix_tree.h"
#include "report/wait_picture.h"

namespace oddrank::report {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result + '"';
}

// Returns whether the node is what holds the others up: a rank that is named, a link, a GPU.
bool is_root(const aggregate::Diagnosis& report,
             const aggregate::JobView& view,
             const PictureNode& node) {
  return aggregate::is_below_host(node.kind) ||
         std::any_of(node.ranks.begin(), node.ranks.end(), [&](std::size_t at) {
           return aggregate::is_named(view.ranks()[at], report.verdict.culprits);
         });
}

std::string wait_cluster(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  const WaitPicture picture = wait_picture(view, report.verdict);
  std::string text = "  subgraph cluster_waits {\n    label=\"who waits for whom\";\n";
  for (std::size_t at = 0; at < picture.nodes.size(); ++at) {
    const PictureNode& node = picture.nodes[at];
    const bool stands =
        node.kind == aggregate::NodeKind::kRank || node.kind == aggregate::NodeKind::kProcess;
    const std::string label = node.phase.empty() ? node.label : node.label + " | " + node.phase;
    text += fmt::format("    w{} [shape={}, label={}{}];\n", at, stands ? "box" : "ellipse",
                        in_quotes(label),
                        is_root(report, view, node) ? ", color=\"#b4440f\", penwidth=3" : "");
  }
  for (const PictureEdge& edge : picture.edges) {
    text += fmt::format("    w{} -> w{}{};\n", edge.from, edge.to,
                        edge.assumed ? " [style=dashed]" : "");
  }
  return text + "  }\n";
}

// Returns whether the children are in order of time, the furthest behind first.
bool is_in_time(const PrefixTree& tree, std::size_t node) {
  const auto& children = tree.nodes[node].children;
  return !children.empty() && !tree.nodes[children.front()].counter.empty();
}

std::string tree_cluster(const aggregate::JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  std::string text = "  subgraph cluster_stacks {\n    label=\"where they are\";\n";
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const aggregate::ShownFrame& frame = tree.nodes[at].frame;
    const std::string label = at == 0 ? "all" : fmt::format("{} {}", frame.name, frame.place());
    text += fmt::format("    t{} [label={}{}];\n", at, in_quotes(label),
                        is_in_time(tree, at) ? ", ordering=out" : "");
  }
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    for (const std::size_t child : tree.nodes[at].children) {
      const TreeNode& next = tree.nodes[child];
      const std::string told = next.counter.empty() ? ""
                                                    : fmt::format(" | {}{}", next.counter,
                                                                  next.behind ? ", behind" : "");
      text +=
          fmt::format("    t{} -> t{} [label={}];\n", at, child,
                      in_quotes(fmt::format("{}: {}{}", next.count,
                                            aggregate::format_ranks_within(next.ranks, 30), told)));
    }
  }
  return text + "  }\n";
}

}  // namespace

std::string report_dot(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  // A page is A4, across: Graphviz scales down what is larger.
  return "digraph oddrank {\n  rankdir=LR;\n  size=\"11,7.5\";\n"
         "  node [shape=plain, fontname=\"monospace\"];\n" +
         wait_cluster(report, view) + tree_cluster(view) + "}\n";
}

}  // namespace oddrank::report
