// What NCCL's proxies say of collectives that the network computes (CollNet), joined: the heads of
// each rail, by channel.
//
// Where the data of CollNet stands: before a GPU, or in the network. Private to proxy_stalls.h.
//
// A step is a call with members: it ends when all heads of the rail have given theirs. A head that
// has not given it waits for its GPU to fill it, or to take results, so that there is room. If all
// have given it, it stands in the network, between all of them: no link is known.
//
// The GPUs of a host fill the steps of all its rails together, by NVLink. So before a GPU is said
// to stand, it must not wait for an earlier step of another rail on its host.
// Source: NCCL, src/transport/coll_net.cc, src/device/all_reduce.h (2.26 to 2.30).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregate/evidence/stall_net.h"
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

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
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

// Adds the waits of all rails.
void add_collnet_waits(const CollnetRails& rails, StallNet& net);

}  // namespace oddrank::aggregate
