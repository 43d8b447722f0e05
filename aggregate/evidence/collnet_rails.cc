#include "aggregate/evidence/collnet_rails.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

namespace oddrank::aggregate {

using snapshot::CollnetHead;

namespace {

bool is_possible_head(const CollnetHead& row) {
  constexpr std::int64_t kMaxHeadSteps = std::int64_t{1} << 60;
  return row.head >= 0 && row.head < row.heads && row.heads >= 2 && row.taken >= 0 &&
         row.taken <= row.returned && row.returned <= row.given && row.given <= row.filled &&
         row.given <= row.offered && row.filled <= row.end && row.offered <= row.end &&
         row.end <= kMaxHeadSteps;
}

}  // namespace

bool Rail::is_like(const Rail& other) const {
  return name == other.name && heads == other.heads && moves == other.moves;
}

CollnetRails::CollnetRails(const JobView& view) : view_(view) {
  read();
  find_units();
  find_places();
  find_members();
}

void CollnetRails::read() {
  std::map<std::pair<std::string_view, int>, std::map<std::int32_t, RailHead>> found;
  std::map<std::pair<std::string_view, int>, bool> moving;
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const RankView& rank = view_.rank(at);
    if (rank.process == nullptr || rank.presence != Presence::kRead) {
      continue;
    }
    for (const CollnetHead& row : rank.process->heads) {
      for (std::uint64_t left = is_possible_head(row) ? row.channels : 0; left != 0;
           left &= left - 1) {
        const int channel = std::countr_zero(left);
        const std::pair key(view_.text(row.rail), channel);
        const bool stands = (row.still >> static_cast<unsigned>(channel) & 1) != 0;
        const bool is_first =
            found[key].try_emplace(row.head, RailHead{at, rank.process->node, &row}).second;
        moving[key] = moving[key] || !stands || !is_first;
      }
    }
  }
  rails_.reserve(found.size());
  for (const auto& [key, heads] : found) {
    const CollnetHead& first = *heads.begin()->second.row;
    Rail rail{key.first,
              key.second,
              view_.text(first.group),
              {},
              false,
              moving[key],
              std::numeric_limits<std::int64_t>::max()};
    for (const auto& [number, head] : heads) {
      rail.given = std::min(rail.given, head.row->given);
      rail.heads.push_back(head);
    }
    rail.complete = rail.heads.size() == static_cast<std::size_t>(first.heads);
    // What has returned to one, all have given.
    rail.moves = rail.moves ||
                 std::any_of(rail.heads.begin(), rail.heads.end(), [&rail](const RailHead& head) {
                   return head.row->returned > rail.given;
                 });
    rails_.push_back(std::move(rail));
  }
}

void CollnetRails::find_units() {
  std::set<std::string_view> by_rank;  // groups
  for (const Rail& rail : rails_) {
    std::set<std::size_t> nodes;
    for (const RailHead& head : rail.heads) {
      if (!nodes.insert(head.unit).second) {
        by_rank.insert(rail.group);
      }
    }
  }
  for (Rail& rail : rails_) {
    if (!by_rank.contains(rail.group)) {
      continue;
    }
    for (RailHead& head : rail.heads) {
      head.unit = view_.capture().nodes.size() + head.rank;
    }
  }
}

void CollnetRails::find_places() {
  for (const Rail& rail : rails_) {
    for (const RailHead& head : rail.heads) {
      places_[{rail.group, rail.channel, head.unit}].push_back({&rail, &head});
    }
  }
}

const std::vector<RailPlace>& CollnetRails::places(std::string_view group,
                                                   int channel,
                                                   std::size_t unit) const {
  static const std::vector<RailPlace> nothing;
  const auto at = places_.find({group, channel, unit});
  return at == places_.end() ? nothing : at->second;
}

void CollnetRails::find_members() {
  std::map<std::size_t, std::vector<std::size_t>> by_node;
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    if (view_.rank(at).process != nullptr) {
      by_node[view_.rank(at).process->node].push_back(at);
    }
  }
  for (const Rail& rail : rails_) {
    for (const RailHead& head : rail.heads) {
      const bool alone =
          head.row->size == head.row->heads || head.unit >= view_.capture().nodes.size();
      members_.try_emplace({rail.group, head.unit},
                           alone ? std::vector{head.rank} : by_node[head.unit]);
    }
  }
}

}  // namespace oddrank::aggregate
