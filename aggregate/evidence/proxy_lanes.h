// What NCCL's proxies say, joined: the two ends of each connection, by communicator and channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/connection.h"

namespace oddrank::aggregate {

// The connections of one communicator with one number, on one channel.
struct LaneKey {
  std::string_view group;
  std::int32_t index = 0;
  int channel = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const LaneKey&) const = default;
};

// One connection: what its two ends say. Null: the end is not known, or it moves.
struct ProxyWire {
  const snapshot::ProxyTransfer* sender = nullptr;
  const snapshot::ProxyTransfer* receiver = nullptr;
  bool moves = false;

  bool operator==(const ProxyWire&) const = default;

  // Counts the steps that both ends have agreed upon and that have not arrived.
  std::int64_t on_the_way() const;
  // Counts the steps that have come and are not taken. Only what was sent can have come.
  std::int64_t not_taken() const;
  // Returns whether all that has come is taken, and there is more to come.
  bool awaits_data() const;
  // Returns whether the receiver has made room for the next step.
  bool is_expected() const { return receiver != nullptr && receiver->posted > receiver->passed; }
  bool has_room() const { return sender != nullptr && sender->passed < sender->posted; }
  // Returns whether all room is in use, and there is more to send.
  bool lacks_room() const;
};

// Ranks of a communicator by number, sender first.
using Ends = std::pair<std::int32_t, std::int32_t>;

struct ProxyGroup {
  std::map<std::int32_t, std::size_t> rank_at;  // JobView's index by number
  // Ranks of one host send to each other over the network, and in no other way.
  bool by_rank = false;
  // By unit (ProxyLanes::unit_of): its ranks (JobView's indices) that may be members.
  std::map<std::size_t, std::vector<std::size_t>> units;
  std::int32_t size = -1;
};

struct ProxyLane {
  using Wires = std::map<Ends, ProxyWire>;
  using WireList = std::vector<const Wires::value_type*>;

  // Return what leads to a unit (ProxyLanes::unit_of), and what leads from there.
  const WireList& wires_into(std::size_t unit) const { return list_of(into, unit); }
  const WireList& wires_from(std::size_t unit) const { return list_of(from, unit); }

  Wires wires;
  std::map<std::size_t, WireList> into;  // by unit
  std::map<std::size_t, WireList> from;

 private:
  static const WireList& list_of(const std::map<std::size_t, WireList>& lists, std::size_t unit);
};

// A unit is what shares a node of the net: the ranks of a host, or, where by_rank, one rank.
class ProxyLanes {
 public:
  explicit ProxyLanes(const JobView& view);

  const std::map<std::string_view, ProxyGroup>& groups() const { return groups_; }
  const std::map<LaneKey, ProxyLane>& all() const { return lanes_; }
  const ProxyGroup& group(const LaneKey& lane) const { return groups_.at(lane.group); }
  const ProxyLane& at(const LaneKey& lane) const { return lanes_.at(lane); }

  // Returns the unit of a rank of the communicator; JobView::kNone if nothing is known of it.
  std::size_t unit_of(const ProxyGroup& group, std::int32_t rank) const;

 private:
  // Calls take(index of the rank, row) for all valid rows.
  template <typename Take>
  void each_row(const Take& take) const;
  void read_groups();
  void join();
  void index_wires();
  void find_members();

  const JobView& view_;
  std::map<std::string_view, ProxyGroup> groups_;
  std::map<LaneKey, ProxyLane> lanes_;
};

}  // namespace oddrank::aggregate
