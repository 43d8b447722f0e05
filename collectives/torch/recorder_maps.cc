#include "collectives/torch/recorder_maps.h"

#include <algorithm>

#include "base/ascii.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using cpython::RemoteReader;

// libstdc++'s std::map.
constexpr std::uint64_t kTreeRoot = 16;
constexpr std::uint64_t kTreeSize = 40;
constexpr std::uint64_t kTreeLeft = 16;
constexpr std::uint64_t kTreeRight = 24;
constexpr std::uint64_t kTreeKey = 32;
constexpr std::uint64_t kMaxTree = 1024;
constexpr std::size_t kMaxGroupName = 512;

// libstdc++'s std::unordered_map of texts.
constexpr std::uint64_t kTableValue = kTableKey + string_size(StringAbi::kNew);
constexpr std::uint64_t kMaxRegistered = 16;

// Returns the nodes of a map, in no order; empty if there are more or fewer than it says.
std::vector<Addr> nodes_of(RemoteReader& reader, Addr map) {
  const auto size = reader.value<std::uint64_t>(map + kTreeSize);
  std::vector<Addr> nodes;
  std::vector<Addr> open = {reader.pointer_or_null(map + kTreeRoot)};
  if (!size || *size > kMaxTree) {
    return nodes;
  }
  while (!open.empty()) {
    const Addr node = open.back();
    open.pop_back();
    if (node == Addr{}) {
      continue;
    }
    if (nodes.size() == *size) {
      return {};
    }
    nodes.push_back(node);
    open.push_back(reader.pointer_or_null(node + kTreeLeft));
    open.push_back(reader.pointer_or_null(node + kTreeRight));
  }
  return nodes.size() == *size ? nodes : std::vector<Addr>();
}

std::vector<std::int32_t> ranks_at(RemoteReader& reader, Addr vector) {
  const Addr begin = reader.pointer_or_null(vector);
  const Addr end = reader.pointer_or_null(vector + 8);
  const std::uint64_t bytes = value_of(end) - value_of(begin);
  if (value_of(end) < value_of(begin) || bytes % 8 != 0 || bytes / 8 > snapshot::kMaxRanks) {
    return {};
  }
  std::vector<std::uint64_t> raw(bytes / 8);
  if (raw.empty() || !reader.read(begin, std::as_writable_bytes(std::span(raw)))) {
    return {};
  }
  std::vector<std::int32_t> ranks;
  ranks.reserve(raw.size());
  for (const std::uint64_t rank : raw) {
    if (rank >= snapshot::kMaxRanks) {
      return {};
    }
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

std::vector<Addr> registered_recorders(RemoteReader& reader, Addr registry) {
  constexpr std::size_t kMaxBackendName = 40;
  const auto nodes = nodes_of_table(reader, registry, kMaxRegistered);
  std::vector<Addr> recorders;
  for (const Addr node : nodes.value_or(std::vector<Addr>())) {
    const auto name = read_text(reader, node + kTableKey, StringAbi::kNew, kMaxBackendName);
    if (!name || name->empty() || !std::all_of(name->begin(), name->end(), is_printable_ascii)) {
      return {};
    }
    recorders.push_back(reader.pointer_or_null(node + kTableValue));
  }
  return recorders;
}

bool looks_like_registry(std::span<const std::uint64_t, kRegistryWords> words) {
  constexpr std::uint32_t kOne = 0x3f800000;  // the greatest load of a bucket: 1.0
  constexpr std::uint64_t kMaxBuckets = 64;
  return words[0] != 0 && words[1] > 0 && words[1] <= kMaxBuckets && words[2] != 0 &&
         words[3] > 0 && words[3] <= kMaxRegistered && static_cast<std::uint32_t>(words[4]) == kOne;
}

std::optional<GroupStatus> read_group_status(RemoteReader& reader, Addr map, std::uint64_t group) {
  constexpr std::int64_t kMaxStatusNumber = std::int64_t{1} << 48;
  for (const Addr node : nodes_of(reader, map)) {
    if (reader.value<std::uint64_t>(node + kTreeKey) != group) {
      continue;
    }
    const Addr status = reader.pointer_or_null(node + kTreeKey + 8);
    const auto number = [&](std::uint64_t offset) {
      const auto value = reader.value<std::int64_t>(status + offset);
      return value && *value >= -1 && *value < kMaxStatusNumber ? *value : -1;
    };
    return status == Addr{} ? std::nullopt
                            : std::optional(GroupStatus{number(0), number(8), number(16)});
  }
  return std::nullopt;
}

std::vector<RecordedMembers> read_recorded_members(RemoteReader& reader, Addr map, StringAbi abi) {
  std::vector<RecordedMembers> rows;
  for (const Addr node : nodes_of(reader, map)) {
    const Addr description_at = node + kTreeKey;
    const Addr name_at = description_at + string_size(abi);
    const auto description = read_text(reader, description_at, abi, kMaxGroupName);
    const auto name = read_text(reader, name_at, abi, kMaxGroupName);
    if (!name || !description) {
      return {};
    }
    rows.push_back({*name, *description, ranks_at(reader, name_at + string_size(abi))});
  }
  return rows;
}

}  // namespace oddrank::collectives
