#include "report/wait_picture.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/symmetry/fold_groups.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kLabelColumns = 40;
constexpr std::size_t kNotDrawn = static_cast<std::size_t>(-1);

std::string group_label(const aggregate::JobView& view, const aggregate::RankGroup& group) {
  std::vector<std::int32_t> ranks;
  for (const std::size_t at : group.ranks) {
    ranks.push_back(view.ranks()[at].rank);
  }
  const std::string set = aggregate::format_ranks_within(ranks, kLabelColumns);
  return set.empty() ? aggregate::JobView::name(view.ranks()[group.ranks.front()])
                     : fmt::format("{}: {}", count_of(group.ranks.size(), "rank"), set);
}

// Returns the folded group, if only its ranks wait in the slot; kNotDrawn if other ranks wait there
// too.
std::size_t only_waiter(const aggregate::WaitGraph& graph,
                        std::size_t slot,
                        const std::vector<std::size_t>& drawn_as,
                        const std::vector<bool>& folded) {
  std::size_t only = kNotDrawn;
  for (const std::uint32_t waiter : graph.in[slot]) {
    const std::size_t group = drawn_as[waiter];
    if (group >= folded.size() || !folded[group] || (only != kNotDrawn && only != group)) {
      return kNotDrawn;
    }
    only = group;
  }
  return only;
}

}  // namespace

WaitPicture wait_picture(const aggregate::JobView& view, const aggregate::Verdict& verdict) {
  const aggregate::WaitGraph graph = aggregate::build_wait_graph(view);
  const std::vector<aggregate::RankGroup> groups = aggregate::find_groups(view);
  WaitPicture picture;
  picture.roles = aggregate::roles_of(view, graph, verdict);
  std::vector<std::size_t> drawn_as(graph.nodes.size(), kNotDrawn);
  std::vector<bool> folded;  // by node of the picture, for groups
  for (const aggregate::Fold& fold : aggregate::fold_groups(view, groups, picture.roles)) {
    aggregate::RankGroup group = aggregate::whole_of(groups, fold);
    for (const std::size_t rank : group.ranks) {
      drawn_as[rank] = picture.nodes.size();
    }
    std::string label = group_label(view, group);
    folded.push_back(fold.is_folded());
    picture.nodes.push_back({aggregate::NodeKind::kRank, std::move(label), std::move(group.phase),
                             std::move(group.ranks)});
  }
  std::map<std::size_t, std::size_t> calls_of;  // of a folded group: the node for all its slots
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    const aggregate::GraphNode& node = graph.nodes[at];
    if (drawn_as[at] != kNotDrawn || node.kind == aggregate::NodeKind::kChoice) {
      continue;
    }
    drawn_as[at] = picture.nodes.size();
    if (const std::size_t group = node.kind == aggregate::NodeKind::kSlot
                                      ? only_waiter(graph, at, drawn_as, folded)
                                      : kNotDrawn;
        group != kNotDrawn) {
      const auto [calls, is_new] = calls_of.try_emplace(group, picture.nodes.size());
      drawn_as[at] = calls->second;
      if (is_new) {
        picture.nodes.push_back({node.kind, picture.nodes[group].phase, {}, {}});
      }
      continue;
    }
    PictureNode drawn{node.kind, aggregate::label_of(view, graph, node), {}, {}};
    if (node.kind == aggregate::NodeKind::kRank) {
      drawn.ranks = {node.index};
    }
    if (node.kind == aggregate::NodeKind::kLink) {
      drawn.label = aggregate::link_names(view, graph.links[node.index]);
      drawn.phase = aggregate::tries_words(graph.links[node.index]);
    }
    if (node.kind == aggregate::NodeKind::kDevice) {
      drawn.phase = aggregate::device_evidence(graph.devices[node.index]);
    }
    picture.nodes.push_back(std::move(drawn));
  }
  std::set<std::tuple<std::size_t, std::size_t, bool>> drawn;
  for (const aggregate::GraphEdge& edge : graph.edges) {
    const std::size_t from = drawn_as[edge.from];
    const std::size_t to = drawn_as[edge.to];
    // Waits within a folded group would look like a circle, although there is none.
    const bool within = from == to && from < folded.size() && folded[from];
    if (!within && drawn.emplace(from, to, edge.assumed).second) {
      picture.edges.push_back({from, to, graph.text(edge.on), edge.assumed});
    }
  }
  return picture;
}

}  // namespace oddrank::report
