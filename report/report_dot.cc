#include "report/report_dot.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "aggregate/view/rank_set.h"
#include "report/tree/prefix_tree.h"
#include "report/wait_picture.h"

namespace oddrank::report {
namespace {

std::string dot_text(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  return '"' + dot_text(text) + '"';
}

// Returns whether the node holds the others up: a rank that the verdict names, a link, a GPU.
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
  std::string text = "  subgraph cluster_waits {\n    label=\"wait-for graph\";\n";
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

// Returns the nodes from this one on down to where ranks part or end: they are one box.
std::vector<std::size_t> chain_from(const PrefixTree& tree, std::size_t node) {
  std::vector<std::size_t> chain = {node};
  while (tree.nodes[node].children.size() == 1 &&
         tree.nodes[tree.nodes[node].children.front()].count == tree.nodes[node].count) {
    node = tree.nodes[node].children.front();
    chain.push_back(node);
  }
  return chain;
}

// Returns the frames, outermost first, each on a line of its own.
std::string frames_label(const PrefixTree& tree, const std::vector<std::size_t>& chain) {
  constexpr std::size_t kMaxLines = 12;
  constexpr std::size_t kFirst = 4;
  const std::size_t skipped = chain.size() > kMaxLines ? chain.size() - (kMaxLines - 1) : 0;
  std::string label;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    if (skipped > 0 && at == kFirst) {
      label += fmt::format("... {} frames\\l", skipped);
    }
    if (at < kFirst || at >= kFirst + skipped) {
      const aggregate::ShownFrame& frame = tree.nodes[chain[at]].frame;
      label += dot_text(fmt::format("{} {}", frame.name, frame.place())) + "\\l";
    }
  }
  return label;
}

std::string tree_cluster(const aggregate::JobView& view) {
  const PrefixTree tree = build_prefix_tree(view);
  std::string text = "  subgraph cluster_stacks {\n    label=\"where they are\";\n";
  std::string edges;
  std::vector<std::size_t> todo = {0};
  while (!todo.empty()) {
    const std::size_t at = todo.back();
    todo.pop_back();
    const std::vector<std::size_t> chain = at == 0 ? std::vector{at} : chain_from(tree, at);
    const std::size_t last = chain.back();
    text += fmt::format("    t{} [shape=box, label=\"{}\"{}];\n", at,
                        at == 0 ? "all" : frames_label(tree, chain),
                        is_in_time(tree, last) ? ", ordering=out" : "");
    for (const std::size_t child : tree.nodes[last].children) {
      const TreeNode& next = tree.nodes[child];
      const std::string counter = next.counter.empty() ? ""
                                                       : fmt::format(" | {}{}", next.counter,
                                                                     next.behind ? ", behind" : "");
      edges += fmt::format(
          "    t{} -> t{} [label={}];\n", at, child,
          in_quotes(fmt::format("{}: {}{}", next.count,
                                aggregate::format_ranks_within(next.ranks, 30), counter)));
    }
    todo.insert(todo.end(), tree.nodes[last].children.rbegin(), tree.nodes[last].children.rend());
  }
  return text + edges + "  }\n";
}

}  // namespace

std::string report_dot(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  // A page of A4: Graphviz scales down what is larger.
  return "digraph oddrank {\n  size=\"7.5,11\";\n"
         "  node [fontname=\"monospace\"];\n" +
         wait_cluster(report, view) + tree_cluster(view) + "}\n";
}

}  // namespace oddrank::report
