#include "aggregate/evidence/common_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "aggregate/view/call_counts.h"

namespace oddrank::aggregate {
namespace {

using Counts = std::map<std::string, std::int64_t>;  // by role; -1: not known, or of several groups

// More different ranks than this have no order in common.
constexpr std::size_t kMaxPoints = 256;

// A group without a name of the program's has the role of its size.
std::string group_role(const JobView& view, const snapshot::ProcessGroup& group) {
  if (group.is_default) {
    return "default";
  }
  const std::string_view label = view.text(group.label);
  return label.empty() ? std::to_string(group.size) : "=" + std::string(label);
}

Counts counts_of(const JobView& view, const RankView& rank) {
  Counts counts;
  if (rank.process == nullptr) {
    return counts;
  }
  for (const snapshot::ProcessGroup& group : rank.process->groups) {
    const auto [at, is_new] =
        counts.try_emplace(group_role(view, group), collectives_made_in(rank, group));
    if (!is_new) {
      at->second = -1;
    }
  }
  return counts;
}

// Keeps the roles whose counts are known of all ranks.
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

bool is_before(const Counts& a, const Counts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return one.second <= other.second; });
}

// A point of the sequence, or beside it: the ranks with the same counts.
struct Point {
  const Counts* counts = nullptr;
  std::vector<std::size_t> ranks;
  std::size_t until = 0;  // ranks of the largest set that can be compared and ends here
  std::size_t from = 0;   // the same, of one that begins here

  // Ranks of the largest such set with this point in it.
  std::size_t through() const { return until + from - ranks.size(); }
};

// Returns them so that each comes after those that are before it.
std::vector<Point> points_of(const std::vector<Counts>& counts) {
  std::map<Counts, std::vector<std::size_t>> sorted;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    sorted[counts[at]].push_back(at);
  }
  std::vector<Point> points;
  points.reserve(sorted.size());
  for (const auto& [key, ranks] : sorted) {
    points.push_back({&counts[ranks.front()], ranks});
  }
  return points;
}

void measure_chains(std::vector<Point>& points) {
  for (std::size_t at = 0; at < points.size(); ++at) {
    std::size_t longest = 0;
    for (std::size_t before = 0; before < at; ++before) {
      if (is_before(*points[before].counts, *points[at].counts)) {
        longest = std::max(longest, points[before].until);
      }
    }
    points[at].until = longest + points[at].ranks.size();
  }
  for (std::size_t at = points.size(); at-- > 0;) {
    std::size_t longest = 0;
    for (std::size_t after = at + 1; after < points.size(); ++after) {
      if (is_before(*points[at].counts, *points[after].counts)) {
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
  for (const RankView& rank : view.ranks()) {
    counts.push_back(counts_of(view, rank));
  }
  keep_common(counts);
  std::vector<Point> points = points_of(counts);
  std::vector<std::size_t> outside;
  if (points.size() < 2 || points.size() > kMaxPoints || counts.front().size() < 2) {
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
