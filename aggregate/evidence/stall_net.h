// The net of waits below the host: what GPUs and networks of NCCL wait for. Private to
// proxy_stalls.h.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "aggregate/evidence/proxy_lanes.h"
#include "aggregate/solver/wait_net.h"

namespace oddrank::aggregate {

// The index that stands for CollNet instead of a connection.
inline constexpr std::int32_t kCollnetIndex = -1;

// A link (by the numbers of its ends), the network of a rail, or a GPU of a unit. A unit is a node
// of the capture, or a rank if ProxyGroup::by_rank is set. If nothing is set, the place is unknown.
struct StallKey {
  std::string_view group;  // of a rail: its name
  std::int32_t index = 0;
  std::optional<Ends> link;
  std::size_t unit = JobView::kNone;
  bool rail = false;

  bool is_known() const { return link || rail || unit != JobView::kNone; }
  bool is_gpu() const { return !link && !rail; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const StallKey&) const = default;
};

struct StallNet {
  // A communicator, a connection's number (or kCollnetIndex), a unit.
  using Wait = std::tuple<std::string_view, std::int32_t, std::size_t>;

  std::size_t leaf(const StallKey& key) { return node_of(leaves, key); }
  // Returns the node of everything that the unit waits for, on all channels.
  std::size_t wait_of(const Wait& key) { return node_of(waits, key); }
  std::size_t either(std::size_t one, std::size_t other);

  WaitNet net;
  std::map<StallKey, std::size_t> leaves;
  std::map<Wait, std::size_t> waits;

 private:
  template <typename Key>
  std::size_t node_of(std::map<Key, std::size_t>& nodes, const Key& key);
};

template <typename Key>
std::size_t StallNet::node_of(std::map<Key, std::size_t>& nodes, const Key& key) {
  const auto [at, is_new] = nodes.try_emplace(key, 0);
  if (is_new) {
    at->second = net.add(Join::kAll);
  }
  return at->second;
}

inline std::size_t StallNet::either(std::size_t one, std::size_t other) {
  const std::size_t node = net.add(Join::kOneOf);
  net.wait(node, one);
  net.wait(node, other);
  return node;
}

}  // namespace oddrank::aggregate
