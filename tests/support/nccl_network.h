// A made-up network of NCCL's proxies and GPUs, which runs until a call is done or nothing can go
// on: so that a test can break it anywhere, at any time, and ask for the place.
//
// What proxies do, and in which order, follows src/transport/net.cc; what GPUs do follows the
// primitives of rings, trees and sends (src/device/prims_simple.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/capture_builder.h"

namespace oddrank::tests {

enum class Scheme : std::uint8_t { kRing = 0, kChain, kTree, kSends };

struct NetworkPlan {
  Scheme scheme = Scheme::kRing;
  int hosts = 3;
  int per_host = 1;  // GPUs; within a host they use NVLink
  int channels = 2;
  int steps = 24;
  bool sockets = false;      // else InfiniBand: a sender needs the receiver's permission
  bool low_latency = false;  // receivers do not wait for the end of messages
  bool pxn = false;  // the last GPU of a host sends for the others, by NVLink and its adapter
  int window = 8;

  std::int32_t ranks() const { return hosts * per_host; }
};

class NcclNetwork {
 public:
  NcclNetwork(const NetworkPlan& plan, std::uint32_t seed);

  // From now on nothing gets from one host to the other.
  void cut(int from, int to) { cuts_.insert({from, to}); }
  void stop_gpu(std::int32_t rank) { stopped_.insert(rank); }
  // Makes so many moves, in any order; returns false if no further one is possible.
  bool run(int turns);
  bool is_done() const;
  // Adds what the proxies say to the ranks of a job, each with pid_of(rank).
  void describe(CaptureBuilder& job) const;
  int host_of(std::int32_t rank) const { return rank / plan_.per_host; }

 private:
  // A connection from GPU to GPU; over the network, or within a host.
  struct Wire {
    std::int32_t from = 0;
    std::int32_t to = 0;
    int channel = 0;
    bool net = false;
    int sent_posted = 0, filled = 0, passed = 0, sent_done = 0;
    int received_posted = 0, permitted = 0, arrived = 0, received = 0, taken = 0;
    // The wires of the same GPU that a step needs data of: of the same step, or of the one before.
    std::vector<std::size_t> needs;
    bool needs_before = false;
    std::vector<std::size_t> feeds;  // what is taken from this one goes there
  };

  void connect(std::int32_t from, std::int32_t to, int channel);
  std::size_t wire(std::int32_t from, std::int32_t to, int channel) const;
  void make_ring(int channel, bool closed);
  void make_tree(int channel);
  void make_sends(int channel);
  std::vector<std::int32_t> order(int channel) const;
  bool turn(Wire& wire);
  bool can_fill(const Wire& wire) const;
  bool can_take(const Wire& wire) const;
  bool is_cut(std::int32_t from, std::int32_t to) const {
    return cuts_.contains({host_of(from), host_of(to)});
  }

  NetworkPlan plan_;
  std::mt19937 random_;
  std::vector<Wire> wires_;
  std::set<std::pair<int, int>> cuts_;
  std::set<std::int32_t> stopped_;
};

}  // namespace oddrank::tests
