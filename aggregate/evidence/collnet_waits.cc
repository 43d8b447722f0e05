#include "aggregate/evidence/collnet_waits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace oddrank::aggregate {

using snapshot::CollnetHead;

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
