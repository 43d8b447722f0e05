#include "aggregate/evidence/proxy_stalls.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate/evidence/collnet_rails.h"
#include "aggregate/evidence/proxy_lanes.h"
#include "aggregate/evidence/stall_net.h"
#include "aggregate/solver/solve.h"
#include "aggregate/solver/wait_net.h"
#include "aggregate/view/call_counts.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;

namespace {

class ProxyNet {
 public:
  explicit ProxyNet(const JobView& view) : view_(view), lanes_(view), rails_(view) {}
  ProxyWaits run();

 private:
  // The place where a unit gives data to another one (true), or takes data from it.
  using Gate = std::tuple<LaneKey, std::size_t, std::size_t, bool>;
  // Returns the node of a GPU that gives or takes; what it waits for is filled in later.
  std::size_t gate(const LaneKey& lane, std::size_t unit, std::size_t other, bool gives);
  // Return what it waits for.
  std::vector<std::size_t> sources_to_give(const Gate& gate);
  std::vector<std::size_t> sources_to_take(const Gate& gate);
  // Returns what the GPU behind an end waits for to get more data, or more room.
  std::size_t data_source(const LaneKey& lane, const Ends& ends, const ProxyWire& wire);
  std::size_t room_source(const LaneKey& lane, const Ends& ends, const ProxyWire& wire);
  void add_wire(const LaneKey& lane, const Ends& ends, const ProxyWire& wire);
  // Returns what the unit waits for to have data from others than `but`, or (`gives`) room towards
  // them.
  std::vector<std::size_t> sources(const LaneKey& lane,
                                   std::size_t unit,
                                   std::size_t but,
                                   bool gives);
  std::int64_t given_to(const LaneKey& lane, std::size_t unit, std::size_t to);
  void build();
  std::set<CauseId> causes_of(const Solution& solution,
                              const std::vector<const StallKey*>& leaf_of,
                              bool sure) const;
  std::vector<ProxyStall> stalls_in(const Solution& solution, bool sure) const;
  const std::vector<std::size_t>& ranks_of(std::string_view group,
                                           std::int32_t index,
                                           std::size_t unit) const;
  const std::vector<std::size_t>& ranks_of(const StallNet::Wait& wait) const {
    return ranks_of(std::get<0>(wait), std::get<1>(wait), std::get<2>(wait));
  }
  ProxyStall stall_of(const StallKey& key) const;
  void measure(const StallKey& key, ProxyStall& stall) const;
  void measure_rail_of_gpu(const StallKey& key, ProxyStall& stall) const;
  ProxyStall stall_of_rail(const StallKey& key) const;

  const JobView& view_;
  ProxyLanes lanes_;
  CollnetRails rails_;
  StallNet net_;
  std::map<Gate, std::size_t> gates_;
  std::vector<std::pair<Gate, std::size_t>> todo_;  // gates, and their nodes
};

// If a sender needs the receiver's permission (InfiniBand, and unknown networks), a lost permission
// looks as if the sender's GPU had given no data.
std::size_t ProxyNet::data_source(const LaneKey& lane, const Ends& ends, const ProxyWire& wire) {
  const ProxyGroup& group = lanes_.group(lane);
  const std::size_t from = lanes_.unit_of(group, ends.first);
  if (wire.on_the_way() > 0) {
    return net_.leaf({lane.group, lane.index, ends});
  }
  if (!wire.has_room() || !wire.is_expected() || from == JobView::kNone) {
    return net_.leaf({lane.group, lane.index, {}});
  }
  const std::size_t gpu = gate(lane, from, lanes_.unit_of(group, ends.second), true);
  return is_over_sockets(view_, *wire.sender)
             ? gpu
             : net_.either(gpu, net_.leaf({lane.group, lane.index, ends}));
}

std::size_t ProxyNet::room_source(const LaneKey& lane, const Ends& ends, const ProxyWire& wire) {
  const ProxyGroup& group = lanes_.group(lane);
  if (wire.on_the_way() > 0) {
    return net_.leaf({lane.group, lane.index, ends});
  }
  const std::size_t to = lanes_.unit_of(group, ends.second);
  return wire.receiver != nullptr && to != JobView::kNone
             ? gate(lane, to, lanes_.unit_of(group, ends.first), false)
             : net_.leaf({lane.group, lane.index, {}});
}

std::vector<std::size_t> ProxyNet::sources(const LaneKey& lane,
                                           std::size_t unit,
                                           std::size_t but,
                                           bool gives) {
  std::vector<std::size_t> found;
  const ProxyLane& wires = lanes_.at(lane);
  for (const auto* one : gives ? wires.wires_from(unit) : wires.wires_into(unit)) {
    const auto& [ends, wire] = *one;
    const std::int32_t other = gives ? ends.second : ends.first;
    if (lanes_.unit_of(lanes_.group(lane), other) != but &&
        (gives ? wire.lacks_room() : wire.awaits_data())) {
      found.push_back(gives ? room_source(lane, ends, wire) : data_source(lane, ends, wire));
    }
  }
  return found;
}

// Returns how many steps the unit has given to the other one, counted from the end of the call.
std::int64_t ProxyNet::given_to(const LaneKey& lane, std::size_t unit, std::size_t to) {
  std::int64_t given = 0;
  for (const auto* one : lanes_.at(lane).wires_from(unit)) {
    const ProxyWire& wire = one->second;
    if (lanes_.unit_of(lanes_.group(lane), one->first.second) == to && wire.sender != nullptr) {
      given = std::min(given, wire.sender->passed - wire.sender->end);
    }
  }
  return given;
}

std::size_t ProxyNet::gate(const LaneKey& lane, std::size_t unit, std::size_t other, bool gives) {
  const auto [at, is_new] = gates_.try_emplace({lane, unit, other, gives}, 0);
  if (is_new) {
    at->second = net_.net.add(Join::kAll);
    todo_.emplace_back(*at);
  }
  return at->second;
}

// A GPU gives another one what it has got from the others: its other neighbour in a ring (the same
// one if the ring has two members), its children in a tree. The root of a tree gives a child what
// it has got from all children, including this one: then they are in the same step. If a host has
// taken more than it has given, the rest is on its way between its GPUs. A GPU always has what the
// program sends (index 1).
std::vector<std::size_t> ProxyNet::sources_to_give(const Gate& gate) {
  const auto& [lane, unit, to, gives] = gate;
  const ProxyGroup& group = lanes_.group(lane);
  const std::int64_t given = given_to(lane, unit, to);
  std::vector<std::size_t> sources;
  std::vector<std::size_t> maybe;
  if (lane.index == 0) {
    for (const auto* one : lanes_.at(lane).wires_into(unit)) {
      const auto& [ends, wire] = *one;
      if (!wire.awaits_data()) {
        continue;
      }
      const std::int64_t taken = wire.receiver->done - wire.receiver->end;
      const bool from_others = lanes_.unit_of(group, ends.first) != to || group.units.size() <= 2;
      if (from_others && taken <= given) {
        sources.push_back(data_source(lane, ends, wire));
      } else if (!from_others && taken == given) {
        maybe.push_back(data_source(lane, ends, wire));
      }
    }
  }
  if (sources.empty()) {
    if (lane.index == 0) {
      // It gives all children of a tree in one step.
      for (const std::size_t output : this->sources(lane, unit, to, true)) {
        maybe.push_back(output);
      }
    }
    sources.push_back(net_.leaf({lane.group, lane.index, {}, unit}));
    for (const std::size_t other : maybe) {
      sources.back() = net_.either(sources.back(), other);
    }
  }
  return sources;
}

// A GPU takes data when it can pass on the result, and has what else it needs.
std::vector<std::size_t> ProxyNet::sources_to_take(const Gate& gate) {
  const auto& [lane, unit, from, gives] = gate;
  std::vector<std::size_t> sources = this->sources(lane, unit, from, false);
  for (const std::size_t output : this->sources(lane, unit, from, true)) {
    sources.push_back(output);
  }
  if (sources.empty()) {
    sources.push_back(net_.leaf({lane.group, lane.index, {}, unit}));
  }
  return sources;
}

void ProxyNet::add_wire(const LaneKey& lane, const Ends& ends, const ProxyWire& wire) {
  const ProxyGroup& group = lanes_.group(lane);
  const std::size_t from = lanes_.unit_of(group, ends.first);
  const std::size_t to = lanes_.unit_of(group, ends.second);
  if (to != JobView::kNone && wire.awaits_data()) {
    net_.net.wait(net_.wait_of({lane.group, lane.index, to}), data_source(lane, ends, wire));
  }
  if (from != JobView::kNone && wire.lacks_room()) {
    net_.net.wait(net_.wait_of({lane.group, lane.index, from}), room_source(lane, ends, wire));
  }
}

void ProxyNet::measure(const StallKey& key, ProxyStall& stall) const {
  const ProxyGroup& group = lanes_.groups().at(key.group);
  for (const auto& [lane_key, lane] : lanes_.all()) {
    if (lane_key.group != key.group || lane_key.index != key.index) {
      continue;
    }
    bool counts = false;
    for (const auto& [ends, wire] : lane.wires) {
      if (key.link ? ends != *key.link : lanes_.unit_of(group, ends.second) != key.unit) {
        continue;
      }
      const std::int64_t steps = key.link ? wire.on_the_way() : wire.not_taken();
      stall.steps += std::max<std::int64_t>(steps, 0);
      counts = counts || steps > 0 || !key.link;
      if (wire.sender != nullptr && wire.receiver != nullptr && stall.devices[0].empty()) {
        stall.sockets = is_over_sockets(view_, *wire.sender);
        stall.devices = {printable(view_.text(wire.sender->device), 40),
                         printable(view_.text(wire.receiver->device), 40)};
      }
    }
    stall.channels += counts ? 1 : 0;
  }
}

const std::vector<std::size_t>& ProxyNet::ranks_of(std::string_view group,
                                                   std::int32_t index,
                                                   std::size_t unit) const {
  return index == kCollnetIndex ? rails_.members(group, unit)
                                : lanes_.groups().at(group).units.at(unit);
}

void ProxyNet::measure_rail_of_gpu(const StallKey& key, ProxyStall& stall) const {
  std::set<int> channels;
  for (const Rail& rail : rails_.all()) {
    for (const RailHead& head : rail.heads) {
      if (rail.group == key.group && head.unit == key.unit) {
        stall.steps += head.row->returned - head.row->taken;
        channels.insert(rail.channel);
      }
    }
  }
  stall.channels = channels.size();
}

// Its ranks are the heads that have not got a result for which all have given their part; else the
// heads of which the network takes nothing.
ProxyStall ProxyNet::stall_of_rail(const StallKey& key) const {
  ProxyStall stall;
  stall.kind = ProxyStall::Kind::kNetwork;
  std::set<std::size_t> lacking;
  std::set<std::size_t> refused;
  for (const Rail& rail : rails_.all()) {
    if (rail.name != key.group || rail.moves) {
      continue;
    }
    std::int64_t steps = 0;
    bool any = false;
    for (const RailHead& head : rail.heads) {
      const snapshot::CollnetHead& row = *head.row;
      const bool lacks = row.returned < rail.given;
      const bool is_refused = row.given < std::min(row.filled, row.offered);
      any = any || lacks || is_refused;
      if (lacks || is_refused) {
        (lacks ? lacking : refused).insert(head.rank);
      }
      steps = std::max(steps, rail.given - row.returned);
    }
    stall.heads = rail.heads.size();
    stall.steps += steps;
    stall.channels += any ? 1 : 0;
    stall.devices[0] = printable(view_.text(rail.heads.front().row->device), 40);
  }
  const auto& ranks = lacking.empty() ? refused : lacking;
  stall.ranks = {ranks.begin(), ranks.end()};
  return stall;
}

ProxyStall ProxyNet::stall_of(const StallKey& key) const {
  if (key.rail) {
    return stall_of_rail(key);
  }
  ProxyStall stall;
  key.index == kCollnetIndex ? measure_rail_of_gpu(key, stall) : measure(key, stall);
  if (key.link) {
    const ProxyGroup& group = lanes_.groups().at(key.group);
    stall.ranks = {group.rank_at.at(key.link->first), group.rank_at.at(key.link->second)};
    return stall;
  }
  stall.kind = stall.steps > 0 ? ProxyStall::Kind::kDevice : ProxyStall::Kind::kSilent;
  stall.ranks = ranks_of(key.group, key.index, key.unit);
  return stall;
}

// Channels whose rows are the same wait for the same.
void ProxyNet::build() {
  const ProxyLane* before = nullptr;
  for (const auto& [key, lane] : lanes_.all()) {
    if (before == nullptr || before->wires != lane.wires) {
      for (const auto& [ends, wire] : lane.wires) {
        add_wire(key, ends, wire);
      }
    }
    before = &lane;
  }
  while (!todo_.empty()) {
    const auto [gate, node] = todo_.back();
    todo_.pop_back();
    for (const std::size_t source :
         std::get<bool>(gate) ? sources_to_give(gate) : sources_to_take(gate)) {
      net_.net.wait(node, source);
    }
  }
  add_collnet_waits(rails_, net_);
  // A kernel that has not begun may stand behind another one, which waits.
  for (const auto& [key, node] : net_.leaves) {
    for (const auto& [wait, waiting] : net_.waits) {
      const auto& [group, index, unit] = wait;
      if (key.is_gpu() && unit == key.unit && (group != key.group || index != key.index)) {
        net_.net.wait(node, waiting);
      }
    }
  }
}

ProxyWaits ProxyNet::run() {
  build();
  const Solution solution = solve(net_.net);
  ProxyWaits found;
  found.stalls = stalls_in(solution, true);
  if (found.stalls.empty()) {
    found.stalls = stalls_in(solution, false);
  }
  std::ranges::stable_sort(found.stalls, [](const ProxyStall& a, const ProxyStall& b) {
    return a.waiters.size() > b.waiters.size();
  });
  for (const auto& [wait, waiting] : net_.waits) {
    const auto& ranks = ranks_of(wait);
    found.waiting.insert(ranks.begin(), ranks.end());
  }
  return found;
}

// Returns the causes that a unit certainly needs; if there are none, the causes that units may
// need, if all are known and there are not too many to be useful.
std::set<CauseId> ProxyNet::causes_of(const Solution& solution,
                                      const std::vector<const StallKey*>& leaf_of,
                                      bool sure) const {
  constexpr std::size_t kMaxPossible = 8;
  std::set<CauseId> causes;
  for (const auto& [wait, node] : net_.waits) {
    const CauseSetId set = sure ? solution.sure[node] : solution.may[node];
    if (set == CauseSets::kEvery) {
      continue;
    }
    const std::vector<CauseId>& all = solution.sets.of(set);
    const auto is_known = [&leaf_of](CauseId id) { return leaf_of[id] != nullptr; };
    if (sure) {
      std::ranges::copy_if(all, std::inserter(causes, causes.end()), is_known);
    } else if (all.size() <= kMaxPossible && std::ranges::all_of(all, is_known)) {
      causes.insert(all.begin(), all.end());
    }
  }
  return sure || causes.size() <= kMaxPossible ? causes : std::set<CauseId>();
}

std::vector<ProxyStall> ProxyNet::stalls_in(const Solution& solution, bool sure) const {
  std::map<std::size_t, const StallKey*> leaf_at;  // by node
  for (const auto& [key, node] : net_.leaves) {
    leaf_at.emplace(node, key.is_known() ? &key : nullptr);
  }
  // By cause. Null: a circle, in which something is not seen, or what is not known.
  std::vector<const StallKey*> leaf_of(solution.causes.size(), nullptr);
  for (CauseId id = 0; id < leaf_of.size(); ++id) {
    const auto at = leaf_at.find(solution.causes[id].nodes.front());
    leaf_of[id] = solution.causes[id].circle || at == leaf_at.end() ? nullptr : at->second;
  }
  std::vector<ProxyStall> stalls;
  for (const CauseId id : causes_of(solution, leaf_of, sure)) {
    ProxyStall stall = stall_of(*leaf_of[id]);
    stall.sure = sure;
    // If one unit certainly needs it, others that may need it do, too.
    for (const auto& [wait, node] : net_.waits) {
      if (solution.may[node] != CauseSets::kEvery && solution.is_possible(node, id)) {
        const auto& ranks = ranks_of(wait);
        stall.waiters.insert(stall.waiters.end(), ranks.begin(), ranks.end());
      }
    }
    std::ranges::sort(stall.waiters);
    stall.waiters.erase(std::unique(stall.waiters.begin(), stall.waiters.end()),
                        stall.waiters.end());
    if (!stall.ranks.empty() && !stall.waiters.empty()) {
      stalls.push_back(std::move(stall));
    }
  }
  return stalls;
}

}  // namespace

std::string device_words(const JobView& view, const ProxyStall& stall) {
  const std::string host = printable(view.rank(stall.ranks.front()).host, 60);
  if (stall.ranks.size() == 1) {
    return fmt::format("the GPU of {}", JobView::name(view.rank(stall.ranks.front())));
  }
  return fmt::format("a GPU of ranks {} ({})", format_ranks(view.numbers_of(stall.ranks)), host);
}

std::string device_evidence(const ProxyStall& stall) {
  const std::string channels = count_of(stall.channels, "channel");
  return stall.kind == ProxyStall::Kind::kDevice
             ? fmt::format("{} arrived on {} of NCCL, and it has taken none",
                           count_of(static_cast<std::size_t>(stall.steps), "step") +
                               (stall.steps == 1 ? " has" : " have"),
                           channels)
             : fmt::format("there is room for its data on {} of NCCL, and it has given none",
                           channels);
}

std::string network_words(const JobView& view, const ProxyStall& stall) {
  constexpr std::size_t kMaxHosts = 3;
  std::set<std::string> hosts;
  for (const std::size_t at : stall.ranks) {
    hosts.insert(printable(view.rank(at).host, 60));
  }
  const std::string on = hosts.size() > kMaxHosts ? count_of(hosts.size(), "host")
                                                  : fmt::format("{}", fmt::join(hosts, ", "));
  const std::string place = "in the network itself (CollNet" +
                            (stall.devices[0].empty() ? std::string() : ", " + stall.devices[0]) +
                            "): ";
  const std::string ranks = fmt::format("{} ({})", ranks_phrase(view.numbers_of(stall.ranks)), on);
  if (stall.steps == 0) {
    return place + "it takes nothing of " + ranks;
  }
  const std::string lacking = stall.ranks.size() == stall.heads
                                  ? std::string("none has")
                                  : ranks + (stall.ranks.size() == 1 ? " has" : " have") + " not";
  return fmt::format(
      "{}all {} have given it {} on {}, and {} got {} back", place, count_of(stall.heads, "head"),
      count_of(static_cast<std::size_t>(stall.steps), "step"), count_of(stall.channels, "channel"),
      lacking, stall.steps == 1 ? "it" : "them");
}

std::int64_t age_of_stall_ms(const JobView& view, const ProxyStall& stall) {
  std::int64_t least = -1;
  for (const std::size_t at : stall.waiters) {
    const RankView& rank = view.rank(at);
    if (rank.decider == nullptr) {
      continue;
    }
    const std::int64_t made = rank.decider->call ? age_of_call_ms(rank, *rank.decider->call) : -1;
    const std::int64_t age = std::max(made, rank.decider->wait.quiet_ms);
    least = age < 0 ? least : least < 0 ? age : std::min(least, age);
  }
  return least;
}

ProxyWaits find_proxy_waits(const JobView& view) {
  const auto& processes = view.capture().processes;
  if (std::ranges::all_of(processes, [](const ProcessCapture& process) {
        return process.proxies.empty() && process.heads.empty();
      })) {
    return {};
  }
  return ProxyNet(view).run();
}

}  // namespace oddrank::aggregate
