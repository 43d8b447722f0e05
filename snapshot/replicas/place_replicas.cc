#include "snapshot/replicas/place_replicas.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/parse_number.h"
#include "snapshot/rank_text.h"
#include "snapshot/variable.h"

namespace oddrank::snapshot {
namespace {

constexpr std::int32_t kMaxReplicaSize = 1 << 16;

bool is_numbered(const ProcessCapture& process) {
  return process.replica != StringId{} && process.replica_rank >= 0 &&
         process.replica_rank < kMaxReplicaSize && process.rank >= 0 &&
         process.rank < kMaxReplicaNumber;
}

}  // namespace

Replicas::Replicas(const Capture& capture) : capture_(capture) {
  find_names_of_several();
  measure();
  place();
}

void Replicas::find_names_of_several() {
  std::map<std::tuple<StringId, StringId, std::int32_t>, std::uint32_t> nodes;
  for (const ProcessCapture& process : capture_.processes) {
    if (process.is_rank && is_numbered(process)) {
      const auto [at, is_new] = nodes.try_emplace(
          std::tuple(process.job_key, process.replica, process.replica_rank), process.node);
      if (!is_new && at->second != process.node) {
        of_several_.emplace(process.job_key, process.replica);
      }
    }
  }
}

ReplicaKey Replicas::key_of(const ProcessCapture& process) const {
  const bool split = of_several_.contains({process.job_key, process.replica});
  return {process.job_key, process.replica, split ? process.node : 0};
}

void Replicas::measure() {
  for (const ProcessCapture& process : capture_.processes) {
    if (process.is_rank && is_numbered(process)) {
      const std::int32_t world = std::min(process.world_size, kMaxReplicaSize);
      ReplicaPlace& one = places_[key_of(process)];
      one.size = std::max({one.size, world, process.replica_rank + 1});
      const auto text = variable_of(capture_.tables, process, "REPLICA_GROUP_ID");
      const auto number = text ? parse_number<std::int32_t>(*text) : std::nullopt;
      one.number = number && *number >= 0 ? *number : -1;
    }
  }
}

// Returns the replicas of each job by their variables, or else as they were started, node by node.
std::vector<ReplicaKey> Replicas::in_order() const {
  using Order = std::tuple<std::string_view, std::int32_t, std::uint32_t, std::uint64_t, pid_t>;
  std::map<ReplicaKey, Order> order;
  for (const ProcessCapture& process : capture_.processes) {
    if (process.is_rank && is_numbered(process)) {
      const Order own(capture_.tables.text(process.job_key), places_.at(key_of(process)).number,
                      process.node, process.start_us, process.pid);
      const auto [at, is_new] = order.try_emplace(key_of(process), own);
      at->second = std::min(at->second, own);
    }
  }
  std::vector<ReplicaKey> keys;
  keys.reserve(order.size());
  for (const auto& [key, place] : order) {
    keys.push_back(key);
  }
  std::ranges::sort(keys, {}, [&order](const ReplicaKey& key) { return order.at(key); });
  return keys;
}

void Replicas::place() {
  std::map<StringId, std::int32_t> counts;
  for (const ReplicaKey& key : in_order()) {
    ReplicaPlace& one = places_[key];
    std::int32_t& size = sizes_[std::get<0>(key)];
    const std::int32_t before = counts[std::get<0>(key)]++;
    one.first = size;
    one.size = std::min(one.size, static_cast<std::int32_t>(kMaxRanks) - size);
    one.number = one.number < 0 ? before : one.number;
    size += one.size;
    most_ = std::max(most_, size);
  }
}

const ReplicaPlace* Replicas::of(const ProcessCapture& process) const {
  const auto found = is_numbered(process) ? places_.find(key_of(process)) : places_.end();
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace oddrank::snapshot
