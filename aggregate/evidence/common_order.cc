#include "aggregate/evidence/common_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "aggregate/view/call_counts.h"
#include "aggregate/view/program_order.h"

namespace oddrank::aggregate {
namespace {

using Counts = std::map<std::string, std::int64_t>;  // by role; -1: not known

// More different ranks than this are not compared.
constexpr std::size_t kMaxPoints = 256;

// Returns the group's name, or its size if the program gave it none.
std::string name_of_group(const JobView& view, const snapshot::ProcessGroup& group) {
  if (group.is_default) {
    return "default";
  }
  const std::string_view label = view.text(group.label);
  return label.empty() ? std::to_string(group.size) : "=" + std::string(label);
}

using GroupRole = std::string;

// Returns the role of each group: its name, how many groups of that name the rank made, and which
// of these it is.
std::vector<GroupRole> roles_of_groups(const JobView& view, const RankView& rank) {
  std::map<std::string, int> made;
  for (const snapshot::ProcessGroup& group : rank.process->groups) {
    ++made[name_of_group(view, group)];
  }
  std::vector<GroupRole> roles;
  std::map<std::string, int> before;
  for (const snapshot::ProcessGroup& group : rank.process->groups) {
    const std::string name = name_of_group(view, group);
    roles.push_back(fmt::format("{} {}/{}", name, before[name]++, made[name]));
  }
  return roles;
}

using RolesByGroup = std::map<snapshot::StringId, std::set<GroupRole>>;

Counts counts_of(const JobView& view, const RankView& rank, RolesByGroup& by_group) {
  Counts counts;
  if (rank.process == nullptr) {
    return counts;
  }
  const std::vector<GroupRole> roles = roles_of_groups(view, rank);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const snapshot::ProcessGroup& group = rank.process->groups[i];
    counts.emplace(roles[i], collectives_made_in(rank, group));
    by_group[group.name].insert(roles[i]);
  }
  return counts;
}

// Drops the roles of groups that have different roles for different members, such as the pairs of a
// ring: their members' calls are not one sequence.
void drop_shared_roles(const RolesByGroup& by_group, std::vector<Counts>& ranks) {
  std::set<GroupRole> shared;
  for (const auto& [group, roles] : by_group) {
    if (roles.size() > 1) {
      shared.insert(roles.begin(), roles.end());
    }
  }
  for (Counts& counts : ranks) {
    std::erase_if(counts, [&shared](const auto& entry) { return shared.contains(entry.first); });
  }
}

// Keeps the roles whose counts are known on all ranks.
void keep_common(std::vector<Counts>& ranks) {
  std::map<std::string, std::size_t> known;
  for (const Counts& counts : ranks) {
    for (const auto& [role, count] : counts) {
      known[role] += count >= 0 ? 1 : 0;
    }
  }
  for (Counts& counts : ranks) {
    std::erase_if(counts, [&](const auto& entry) { return known[entry.first] != ranks.size(); });
  }
}

// A point of the sequence, or beside it: ranks with the same counts, at the same place.
struct Point {
  const Counts* counts = nullptr;
  std::vector<std::size_t> ranks;
  ProgramPlace place = {};
  std::size_t behind = 0;  // points that are behind it in the program
  std::size_t until = 0;   // ranks of the largest set that can be compared and ends here
  std::size_t from = 0;    // the same, of one that begins here

  // Ranks of the largest such set with this point in it.
  std::size_t through() const { return until + from - ranks.size(); }
};

// Returns whether the second point can come after the first: it has made as many calls, or more,
// and is not behind it in the program. At one place, all have made the same calls.
bool is_before(const Point& a, const Point& b) {
  const bool fewer = std::ranges::equal(
      *a.counts, *b.counts,
      [](const auto& one, const auto& other) { return one.second <= other.second; });
  const ProgramOrder order = fewer ? program_order(a.place, b.place) : ProgramOrder::kUnknown;
  return fewer && order != ProgramOrder::kAhead &&
         (order != ProgramOrder::kSame || *a.counts == *b.counts);
}

// What distinguishes points: counts, and the place of the deciding thread.
struct PointKey {
  Counts counts;
  snapshot::StackId stack{};
  std::vector<std::int64_t> turns;  // of all its loops

  bool operator<(const PointKey& other) const {
    return std::tie(counts, stack, turns) < std::tie(other.counts, other.stack, other.turns);
  }
};

PointKey point_key_of(const RankView& rank, const Counts& counts) {
  PointKey key{counts, {}, {}};
  if (rank.decider == nullptr || rank.sample() == nullptr) {
    return key;
  }
  key.stack = rank.sample()->python_frames();
  for (const snapshot::FramePlace& place : rank.decider->places) {
    for (const snapshot::LoopTurn& turn : place.turns) {
      key.turns.push_back(turn.left);
    }
  }
  return key;
}

// Returns the points, each after all that are before it; none if they are too many.
std::vector<Point> points_of(const JobView& view, const std::vector<Counts>& counts) {
  std::map<PointKey, std::vector<std::size_t>> sorted;
  for (std::size_t at = 0; at < counts.size() && sorted.size() <= kMaxPoints; ++at) {
    sorted[point_key_of(view.ranks()[at], counts[at])].push_back(at);
  }
  std::vector<Point> points;
  if (sorted.size() > kMaxPoints) {
    return points;
  }
  points.reserve(sorted.size());
  for (const auto& [key, ranks] : sorted) {
    points.push_back({.counts = &counts[ranks.front()],
                      .ranks = ranks,
                      .place = place_in_program(view, view.ranks()[ranks.front()])});
  }
  for (Point& point : points) {
    point.behind = static_cast<std::size_t>(std::ranges::count_if(points, [&](const Point& other) {
      return program_order(other.place, point.place) == ProgramOrder::kBehind;
    }));
  }
  std::ranges::stable_sort(points, [](const Point& a, const Point& b) {
    return *a.counts == *b.counts ? a.behind < b.behind : *a.counts < *b.counts;
  });
  return points;
}

void measure_chains(std::vector<Point>& points) {
  for (std::size_t at = 0; at < points.size(); ++at) {
    std::size_t longest = 0;
    for (std::size_t before = 0; before < at; ++before) {
      if (is_before(points[before], points[at])) {
        longest = std::max(longest, points[before].until);
      }
    }
    points[at].until = longest + points[at].ranks.size();
  }
  for (std::size_t at = points.size(); at-- > 0;) {
    std::size_t longest = 0;
    for (std::size_t after = at + 1; after < points.size(); ++after) {
      if (is_before(points[at], points[after])) {
        longest = std::max(longest, points[after].from);
      }
    }
    points[at].from = longest + points[at].ranks.size();
  }
}

}  // namespace

std::vector<std::size_t> outside_common_order(const JobView& view) {
  std::vector<Counts> counts;
  counts.reserve(view.ranks().size());
  RolesByGroup by_group;
  for (const RankView& rank : view.ranks()) {
    counts.push_back(counts_of(view, rank, by_group));
  }
  drop_shared_roles(by_group, counts);
  keep_common(counts);
  std::vector<std::size_t> outside;
  std::vector<Point> points = points_of(view, counts);
  if (points.size() < 2 || counts.front().empty()) {
    return outside;
  }
  measure_chains(points);
  std::size_t most = 0;
  for (const Point& point : points) {
    most = std::max(most, point.through());
  }
  for (const Point& point : points) {
    if (point.through() < most) {
      outside.insert(outside.end(), point.ranks.begin(), point.ranks.end());
    }
  }
  std::ranges::sort(outside);
  return 2 * outside.size() < counts.size() ? outside : std::vector<std::size_t>();
}

}  // namespace oddrank::aggregate
