#include "report/wait_picture.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kLabelColumns = 40;

std::string group_label(const aggregate::JobView& view, const aggregate::Group& group) {
  std::vector<std::int32_t> ranks;
  for (const std::size_t at : group.ranks) {
    ranks.push_back(view.ranks()[at].rank);
  }
  const std::string set = aggregate::format_ranks_within(ranks, kLabelColumns);
  return set.empty() ? aggregate::JobView::name(view.ranks()[group.ranks.front()])
                     : fmt::format("{}: {}", count_of(group.ranks.size(), "rank"), set);
}

}  // namespace

WaitPicture wait_picture(const aggregate::JobView& view,
                         const std::vector<aggregate::Group>& groups) {
  const aggregate::WaitGraph graph = aggregate::build_wait_graph(view);
  WaitPicture picture;
  std::map<std::size_t, std::size_t> drawn_as;  // by node of the graph
  for (const aggregate::Group& group : groups) {
    for (const std::size_t rank : group.ranks) {
      drawn_as[rank] = picture.nodes.size();
    }
    picture.nodes.push_back(
        {aggregate::NodeKind::kRank, group_label(view, group), group.phase, group.ranks, 0});
  }
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    if (!drawn_as.try_emplace(at, picture.nodes.size()).second) {
      continue;
    }
    const aggregate::GraphNode& node = graph.nodes[at];
    PictureNode drawn{node.kind, aggregate::label_of(view, graph, node), {}, {}, 0};
    if (node.kind == aggregate::NodeKind::kRank) {
      drawn.ranks = {node.index};
    }
    if (node.kind == aggregate::NodeKind::kLink) {
      drawn.label = aggregate::link_names(view, graph.links[node.index]);
      drawn.phase = aggregate::tries_words(graph.links[node.index]);
    }
    drawn.pid = node.process == nullptr ? 0 : node.process->pid;
    picture.nodes.push_back(std::move(drawn));
  }
  std::set<std::tuple<std::size_t, std::size_t, bool>> drawn;
  for (const aggregate::GraphEdge& edge : graph.edges) {
    const std::size_t from = drawn_as[edge.from];
    const std::size_t to = drawn_as[edge.to];
    if (drawn.emplace(from, to, edge.assumed).second) {
      picture.edges.push_back({from, to, graph.text(edge.on), edge.assumed});
    }
  }
  return picture;
}

}  // namespace oddrank::report
