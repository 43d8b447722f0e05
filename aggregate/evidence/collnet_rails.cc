#include "aggregate/evidence/collnet_rails.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

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

namespace {

// What a head waits for: its next result, its own next step to be given, or its GPU to take a
// result.
enum class RailWait : std::uint8_t { kResult = 0, kGive, kTake };

class CollnetNet {
 public:
  CollnetNet(const CollnetRails& rails, StallNet& net) : rails_(rails), net_(net) {}
  void run();

 private:
  using Node = std::pair<RailPlace, RailWait>;

  std::size_t node(const RailPlace& place, RailWait wait);
  // Returns the node of the step that not all heads have given. If no head has given it, none of
  // them stands out; if several have not, one may be a victim of another.
  std::size_t call_of(const Rail& rail);
  std::size_t network_of(const Rail& rail);
  std::size_t unknown_of(const Rail& rail) { return net_.leaf({rail.group, kCollnetIndex, {}}); }
  std::size_t gpu_of(const RailPlace& place);
  std::vector<std::size_t> sources_of(const Node& node);
  std::vector<std::size_t> sources_of_result(const RailPlace& place);
  std::vector<std::size_t> sources_to_give(const RailPlace& place);
  std::vector<std::size_t> sources_to_take(const RailPlace& place);
  // Returns the results of the host's other rails that have not come, though they precede a step
  // (counted from the call's end).
  std::vector<std::size_t> others_before(const RailPlace& place, std::int64_t step);

  const CollnetRails& rails_;
  StallNet& net_;
  std::map<Node, std::size_t> nodes_;
  std::vector<std::pair<Node, std::size_t>> todo_;  // nodes whose waits are to be filled in
  std::map<const Rail*, std::size_t> calls_;
};

std::size_t CollnetNet::node(const RailPlace& place, RailWait wait) {
  const auto [at, is_new] = nodes_.try_emplace({place, wait}, 0);
  if (is_new) {
    at->second = net_.net.add(Join::kAll);
    todo_.emplace_back(*at);
  }
  return at->second;
}

std::size_t CollnetNet::call_of(const Rail& rail) {
  const auto [at, is_new] = calls_.try_emplace(&rail, 0);
  if (is_new) {
    at->second = net_.net.add(Join::kOneOf);
    const auto lags = [&rail](const RailHead& head) { return head.row->given == rail.given; };
    if (std::ranges::all_of(rail.heads, lags)) {
      net_.net.wait(at->second, unknown_of(rail));
      return at->second;
    }
    for (const RailHead& head : rail.heads) {
      if (lags(head)) {
        net_.net.wait(at->second, node({&rail, &head}, RailWait::kGive));
      }
    }
  }
  return at->second;
}

std::size_t CollnetNet::network_of(const Rail& rail) {
  StallKey key{rail.name, kCollnetIndex, {}};
  key.rail = true;
  return rail.complete ? net_.leaf(key) : unknown_of(rail);
}

std::size_t CollnetNet::gpu_of(const RailPlace& place) {
  return net_.leaf({place.rail->group, kCollnetIndex, {}, place.head->unit});
}

std::vector<std::size_t> CollnetNet::others_before(const RailPlace& place, std::int64_t step) {
  std::vector<std::size_t> found;
  const auto& places = rails_.places(place.rail->group, place.rail->channel, place.head->unit);
  for (const RailPlace& other : places) {
    const CollnetHead& row = *other.head->row;
    if (other.rail != place.rail && row.returned < row.end && row.returned - row.end < step) {
      found.push_back(node(other, RailWait::kResult));
    }
  }
  return found;
}

std::vector<std::size_t> CollnetNet::sources_of_result(const RailPlace& place) {
  const auto& [rail, head] = place;
  return {head->row->returned < rail->given ? network_of(*rail) : call_of(*rail)};
}

std::vector<std::size_t> CollnetNet::sources_to_give(const RailPlace& place) {
  const auto& [rail, head] = place;
  const CollnetHead& row = *head->row;
  if (row.filled > row.given) {
    return {row.offered > row.given ? network_of(*rail) : node(place, RailWait::kTake)};
  }
  if (row.given == row.end) {  // the others are in a later call
    return {row.taken < row.returned ? node(place, RailWait::kTake) : unknown_of(*rail)};
  }
  std::vector<std::size_t> sources = others_before(place, row.given - row.end);
  if (sources.empty()) {
    const std::size_t gpu = gpu_of(place);
    sources.push_back(row.returned < row.given ? net_.either(gpu, network_of(*rail)) : gpu);
  }
  return sources;
}

std::vector<std::size_t> CollnetNet::sources_to_take(const RailPlace& place) {
  const CollnetHead& row = *place.head->row;
  std::vector<std::size_t> sources = others_before(place, row.taken - row.end + 1);
  if (sources.empty()) {
    sources.push_back(gpu_of(place));
  }
  return sources;
}

std::vector<std::size_t> CollnetNet::sources_of(const Node& node) {
  const auto& [place, wait] = node;
  if (place.rail->moves) {
    return {unknown_of(*place.rail)};
  }
  return wait == RailWait::kResult ? sources_of_result(place)
         : wait == RailWait::kGive ? sources_to_give(place)
                                   : sources_to_take(place);
}

// Channels whose counts are the same wait for the same.
void CollnetNet::run() {
  const Rail* before = nullptr;
  for (const Rail& rail : rails_.all()) {
    const bool is_known = rail.moves || (before != nullptr && before->is_like(rail));
    for (const RailHead& head : rail.heads) {
      if (!is_known && head.row->returned < head.row->end) {
        net_.net.wait(net_.wait_of({rail.group, kCollnetIndex, head.unit}),
                      node({&rail, &head}, RailWait::kResult));
      }
    }
    before = &rail;
  }
  while (!todo_.empty()) {
    const auto [key, node] = todo_.back();
    todo_.pop_back();
    for (const std::size_t source : sources_of(key)) {
      net_.net.wait(node, source);
    }
  }
}

}  // namespace

void add_collnet_waits(const CollnetRails& rails, StallNet& net) {
  CollnetNet(rails, net).run();
}

}  // namespace oddrank::aggregate
