// A made-up network that computes collectives itself (CollNet), with the GPUs and proxies of its
// hosts: it runs until a call is done or nothing can go on, so that a test can break it anywhere,
// at any time, and ask for the place.
//
// What proxies do, and in which order, follows src/transport/coll_net.cc; what GPUs do follows
// src/device/all_reduce.h: each GPU of a host scatters its data to the heads, a head adds them up
// and gives them to the network, and gives its result to all GPUs of its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/capture_builder.h"

namespace oddrank::tests {

struct CollnetPlan {
  int hosts = 3;
  int per_host = 2;  // GPUs, which use NVLink
  int rails = 2;     // the first GPUs of each host are heads
  int channels = 2;  // each is given to the network for itself, in order
  int steps = 24;
  int window = 8;

  std::int32_t ranks() const { return hosts * per_host; }
};

class CollnetNetwork {
 public:
  CollnetNetwork(const CollnetPlan& plan, std::uint32_t seed);

  void stop_gpu(std::int32_t rank) { stopped_.insert(rank); }
  // From now on no result gets from the rail's network to that host.
  void cut(int host, int rail) { cut_.insert({host, rail}); }
  // From now on the rail's network computes nothing.
  void stop_rail(int rail) { stopped_rails_.insert(rail); }
  // From now on it takes nothing of that host.
  void refuse(int host, int rail) { refused_.insert({host, rail}); }
  // Makes so many moves, in any order; returns false if no further one is possible.
  bool run(int turns);
  bool is_done() const;
  // Adds what the proxies say to the ranks of a job, each with pid_of(rank).
  void describe(CaptureBuilder& job) const;
  int host_of(std::int32_t rank) const { return rank / plan_.per_host; }
  std::int32_t head_of(int host, int rail) const { return host * plan_.per_host + rail; }

 private:
  // One head on one channel.
  struct Head {
    int host = 0;
    int rail = 0;
    int channel = 0;
    int posted = 0, filled = 0, offered = 0, given = 0, returned = 0, taken = 0;
    std::vector<int> scattered;  // by GPU of its host: steps of its data for this head
    std::vector<int> gathered;
  };

  std::size_t index_of(int host, int rail, int channel) const {
    return static_cast<std::size_t>((host * plan_.rails + rail) * plan_.channels + channel);
  }
  const Head& at(int host, int rail, int channel) const {
    return heads_.at(index_of(host, rail, channel));
  }
  bool turn(Head& head);
  bool turn_gpu(Head& head, int gpu);
  bool turn_network(Head& head);
  bool can_give(const Head& head) const;
  bool has_returned(const Head& head) const;
  // Returns the least count of the channels up to this one, and no more than `now` if one behind it
  // lags.
  int limit(const Head& head, int Head::*count) const;

  CollnetPlan plan_;
  std::mt19937 random_;
  std::vector<Head> heads_;
  std::set<std::int32_t> stopped_;
  std::set<std::pair<int, int>> cut_;
  std::set<std::pair<int, int>> refused_;
  std::set<int> stopped_rails_;
};

}  // namespace oddrank::tests
