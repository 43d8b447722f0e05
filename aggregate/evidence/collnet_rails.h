// What NCCL's proxies say of collectives that the network computes (CollNet), joined: the heads of
// each rail, by channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/connection.h"

namespace oddrank::aggregate {

struct RailHead {
  std::size_t rank = 0;  // index of JobView::ranks()
  // As ProxyLanes has it: a node of the capture, or a rank if several heads of a rail are on one
  // node (NCCL_HOSTID).
  std::size_t unit = 0;
  const snapshot::CollnetHead* row = nullptr;

  bool operator==(const RailHead&) const = default;
};

// One rail on one channel.
struct Rail {
  std::string_view name;
  int channel = 0;
  std::string_view group;
  std::vector<RailHead> heads;  // those that are known
  bool complete = false;        // these are all
  bool moves = false;           // its counts are not those of one time
  std::int64_t given = 0;       // by all known heads

  // Returns whether the rails differ in nothing but their channels.
  bool is_like(const Rail& other) const;
};

// A rail and one of its heads.
struct RailPlace {
  const Rail* rail = nullptr;
  const RailHead* head = nullptr;

  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the 0 that it compares with for one
  auto operator<=>(const RailPlace&) const = default;
};

class CollnetRails {
 public:
  explicit CollnetRails(const JobView& view);
  ~CollnetRails() = default;
  CollnetRails(const CollnetRails&) = delete;  // its places point into it
  CollnetRails(CollnetRails&&) = delete;
  CollnetRails& operator=(const CollnetRails&) = delete;
  CollnetRails& operator=(CollnetRails&&) = delete;

  const std::vector<Rail>& all() const { return rails_; }
  // Returns the places of a communicator in one unit, on one channel.
  const std::vector<RailPlace>& places(std::string_view group, int channel, std::size_t unit) const;
  // Returns the ranks (indices) in the unit that may be members of the communicator: the head alone
  // if each host has one member.
  const std::vector<std::size_t>& members(std::string_view group, std::size_t unit) const {
    return members_.at({group, unit});
  }

 private:
  void read();
  void find_units();
  void find_places();
  void find_members();

  const JobView& view_;
  std::vector<Rail> rails_;  // by name and channel
  std::map<std::tuple<std::string_view, int, std::size_t>, std::vector<RailPlace>> places_;
  std::map<std::pair<std::string_view, std::size_t>, std::vector<std::size_t>> members_;
};

}  // namespace oddrank::aggregate
