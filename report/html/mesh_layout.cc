#include "report/html/mesh_layout.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"

namespace oddrank::report {
namespace {

using aggregate::JobView;

constexpr std::size_t kMaxAxisNames = 8;
constexpr std::size_t kAxisNameColumns = 20;
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// A name that groups share, as a possible axis.
struct Axis {
  std::string name;
  std::size_t size = 0;             // of all of its groups; 0: they differ
  std::int64_t stride = 0;          // least distance between neighbours within a group
  std::vector<std::size_t> places;  // by rank of the view
  bool complete = true;             // each rank has one place
};

void add_axis_group(const JobView& view, const std::vector<std::int32_t>& members, Axis& axis) {
  axis.complete = axis.complete && (axis.size == 0 || axis.size == members.size());
  axis.size = members.size();
  for (std::size_t place = 0; place < members.size(); ++place) {
    const std::size_t at = members[place] < 0 ? JobView::kNone : view.index_of(members[place]);
    if (at == JobView::kNone || (axis.places[at] != kNowhere && axis.places[at] != place)) {
      axis.complete = false;
      return;
    }
    axis.places[at] = place;
    if (place > 0) {
      const std::int64_t step = std::abs(std::int64_t{members[place]} - members[place - 1]);
      axis.stride = axis.stride == 0 ? step : std::min(axis.stride, step);
    }
  }
}

// Returns the names by which each rank has exactly one place, the slowest first.
std::vector<Axis> possible_axes(const JobView& view) {
  std::map<std::string, Axis> by_name;
  std::set<std::pair<snapshot::StringId, snapshot::StringId>> seen;  // label and members
  for (const aggregate::RankView& rank : view.ranks()) {
    if (rank.process == nullptr) {
      continue;
    }
    for (const snapshot::ProcessGroup& group : rank.process->groups) {
      const std::vector<std::int32_t>& members = view.ranks_of(group.members);
      if (group.is_default || members.size() < 2 ||
          !seen.emplace(group.label, group.members).second) {
        continue;
      }
      std::string name = printable(view.text(group.label), kAxisNameColumns);
      if (name.empty()) {
        continue;
      }
      Axis& axis = by_name[name];
      if (axis.places.empty()) {
        axis.name = std::move(name);
        axis.places.assign(view.ranks().size(), kNowhere);
      }
      if (axis.complete) {
        add_axis_group(view, members, axis);
      }
    }
  }
  std::vector<Axis> axes;
  for (auto& [name, axis] : by_name) {
    if (axis.complete && std::ranges::count(axis.places, kNowhere) == 0) {
      axes.push_back(std::move(axis));
    }
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  axes.resize(std::min(axes.size(), kMaxAxisNames));
  return axes;
}

// Returns the place of each rank if the chosen axes give each one of its own, and leave none empty;
// else nothing.
std::vector<std::size_t> order_by(const std::vector<Axis>& axes,
                                  unsigned chosen,
                                  std::size_t ranks) {
  std::size_t product = 1;
  for (std::size_t at = 0; at < axes.size(); ++at) {
    if ((chosen >> at & 1U) != 0) {
      product *= axes[at].size;
      if (product > ranks) {
        return {};
      }
    }
  }
  if (product != ranks) {
    return {};
  }
  std::vector<std::size_t> order;
  std::vector<bool> taken(ranks, false);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::size_t place = 0;
    for (std::size_t at = 0; at < axes.size(); ++at) {
      if ((chosen >> at & 1U) != 0) {
        place = place * axes[at].size + axes[at].places[rank];
      }
    }
    if (taken[place]) {
      return {};
    }
    taken[place] = true;
    order.push_back(place);
  }
  return order;
}

}  // namespace

MeshLayout mesh_layout(const JobView& view) {
  const std::vector<Axis> axes = possible_axes(view);
  MeshLayout layout;
  unsigned best = 0;
  for (unsigned chosen = 1; chosen < 1U << axes.size(); ++chosen) {
    if (std::popcount(chosen) > std::popcount(best)) {
      if (auto order = order_by(axes, chosen, view.ranks().size()); !order.empty()) {
        layout.order = std::move(order);
        best = chosen;
      }
    }
  }
  for (std::size_t at = 0; at < axes.size(); ++at) {
    if ((best >> at & 1U) != 0) {
      layout.names.push_back(axes[at].name);
      layout.sizes.push_back(axes[at].size);
    }
  }
  return layout;
}

}  // namespace oddrank::report
