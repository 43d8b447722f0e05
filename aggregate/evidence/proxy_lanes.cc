#include "aggregate/evidence/proxy_lanes.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace oddrank::aggregate {

using snapshot::ProxyTransfer;

namespace {

bool is_possible(const ProxyTransfer& row) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  return row.rank >= 0 && row.peer >= 0 && row.rank != row.peer && row.index >= 0 &&
         row.done >= 0 && row.done <= row.passed && row.passed <= row.posted &&
         row.posted <= kMost && row.end >= row.done && row.end <= kMost;
}

}  // namespace

std::int64_t ProxyWire::on_the_way() const {
  return sender == nullptr || receiver == nullptr ? 0
                                                  : std::min(sender->passed, receiver->posted) -
                                                        std::min(receiver->passed, sender->done);
}

std::int64_t ProxyWire::not_taken() const {
  if (receiver == nullptr || (sender == nullptr && receiver->early)) {
    return 0;
  }
  const std::int64_t sent = sender == nullptr ? receiver->passed : sender->passed;
  return std::min(sent, receiver->passed) - receiver->done;
}

bool ProxyWire::awaits_data() const {
  return receiver != nullptr && receiver->done < receiver->end && not_taken() <= 0;
}

bool ProxyWire::lacks_room() const {
  return sender != nullptr && !has_room() && sender->passed < sender->end;
}

const ProxyLane::WireList& ProxyLane::list_of(const std::map<std::size_t, WireList>& lists,
                                              std::size_t unit) {
  static const WireList nothing;
  const auto at = lists.find(unit);
  return at == lists.end() ? nothing : at->second;
}

ProxyLanes::ProxyLanes(const JobView& view) : view_(view) {
  read_groups();
  join();
  index_wires();
  find_members();
}

std::size_t ProxyLanes::unit_of(const ProxyGroup& group, std::int32_t rank) const {
  const auto at = group.rank_at.find(rank);
  if (at == group.rank_at.end()) {
    return JobView::kNone;
  }
  return group.by_rank ? view_.capture().nodes.size() + at->second
                       : view_.rank(at->second).process->node;
}

template <typename Take>
void ProxyLanes::each_row(const Take& take) const {
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const RankView& rank = view_.rank(at);
    if (rank.process == nullptr || rank.presence != Presence::kRead) {
      continue;
    }
    for (const ProxyTransfer& row : rank.process->proxies) {
      if (is_possible(row)) {
        take(at, row);
      }
    }
  }
}

// A receiver's proxy is always the rank's own; a sender's may be another rank's of the host.
void ProxyLanes::read_groups() {
  for (const bool sends : {false, true}) {
    each_row([this, sends](std::size_t at, const ProxyTransfer& row) {
      if (row.sends == sends) {
        ProxyGroup& group = groups_[view_.text(row.group)];
        group.rank_at.try_emplace(row.rank, at);
        group.size = row.size;
      }
    });
  }
}

void ProxyLanes::join() {
  each_row([this](std::size_t, const ProxyTransfer& row) {
    const Ends ends = row.sends ? Ends{row.rank, row.peer} : Ends{row.peer, row.rank};
    for (std::uint64_t left = row.channels; left != 0; left &= left - 1) {
      const int channel = std::countr_zero(left);
      ProxyWire& wire = lanes_[{view_.text(row.group), row.index, channel}].wires[ends];
      wire.moves = wire.moves || (row.still >> static_cast<unsigned>(channel) & 1) == 0;
      (row.sends ? wire.sender : wire.receiver) = &row;
    }
  });
  for (auto& [key, lane] : lanes_) {
    std::erase_if(lane.wires, [](const auto& one) { return one.second.moves; });
    ProxyGroup& group = groups_[key.group];
    for (const auto& [ends, wire] : lane.wires) {
      const std::size_t from = unit_of(group, ends.first);
      group.by_rank =
          group.by_rank || (from != JobView::kNone && from == unit_of(group, ends.second));
    }
  }
}

void ProxyLanes::index_wires() {
  for (auto& [key, lane] : lanes_) {
    for (const auto& wire : lane.wires) {
      lane.from[unit_of(groups_[key.group], wire.first.first)].push_back(&wire);
      lane.into[unit_of(groups_[key.group], wire.first.second)].push_back(&wire);
    }
  }
}

// If as many units as members are known, each has one. Else all ranks of a host may be members.
void ProxyLanes::find_members() {
  std::map<std::size_t, std::vector<std::size_t>> by_node;
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    if (view_.rank(at).process != nullptr) {
      by_node[view_.rank(at).process->node].push_back(at);
    }
  }
  for (auto& [name, group] : groups_) {
    for (const auto& [number, at] : group.rank_at) {
      group.units[unit_of(group, number)].push_back(at);
    }
    if (!group.by_rank && group.units.size() != static_cast<std::size_t>(group.size)) {
      for (auto& [unit, ranks] : group.units) {
        ranks = by_node[unit];
      }
    }
  }
}

}  // namespace oddrank::aggregate
