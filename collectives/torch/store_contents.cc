#include "collectives/torch/store_contents.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/secrets/mask_secrets.h"
#include "collectives/torch/cxx_object.h"
#include "cpython/remote_reader.h"

namespace oddrank::collectives {
namespace {

using cpython::RemoteReader;

constexpr std::string_view kThreadName = "pt_tcpstore";
struct DaemonClass {
  std::string_view name;
  std::uint64_t client_bytes;  // of what stands for a client: a pointer, or a descriptor
};
constexpr std::array<DaemonClass, 2> kDaemons = {
    {{"N4c10d6detail16LibUVStoreDaemonE", 8}, {"N4c10d6detail20TCPStoreMasterDaemonE", 4}}};
constexpr std::size_t kStackWord = 8;
constexpr std::uint64_t kMaxStack = 65536;  // libuv keeps 12 KiB of events there
constexpr std::uint64_t kMaxDaemon = 2048;  // within which it has its maps
constexpr std::uint64_t kMaxKeys = 16384;
constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::uint64_t kMaxWaiting = 1ULL << 20;

// libstdc++'s std::unordered_map, without what is behind its greatest load.
struct MapHead {
  std::uint64_t buckets = 0;
  std::uint64_t bucket_count = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  float load = 0;
};

// A node of one whose keys are strings and whose values are vectors.
struct VectorHead {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t capacity_end = 0;
};
constexpr std::uint64_t kVectorInNode = kTableKey + string_size(StringAbi::kNew);

// By name, how many bytes the vector of each key has.
using Keys = std::map<std::string, std::uint64_t>;

class StoreReader {
 public:
  explicit StoreReader(const attach::Target& target) : target_(target), reader_(target) {}

  // Returns the daemon that the thread runs, and its class.
  std::optional<std::pair<Addr, const DaemonClass*>> daemon_of(const attach::ThreadState& thread);
  // Returns what is set, and for what clients wait; nullopt if that is not all known.
  std::optional<std::pair<Keys, Keys>> read(Addr daemon);

 private:
  bool is_written(std::uint64_t word) const;
  // Returns whether it looks like a std::unordered_map.
  bool is_map(Addr at);
  std::optional<Keys> keys_of(Addr map);

  const attach::Target& target_;
  RemoteReader reader_;
};

bool StoreReader::is_written(std::uint64_t word) const {
  const attach::Mapping* mapping =
      word == 0 || word % kStackWord != 0 ? nullptr : target_.maps().find(Addr{word});
  return mapping != nullptr && mapping->writable;
}

std::optional<std::pair<Addr, const DaemonClass*>> StoreReader::daemon_of(
    const attach::ThreadState& thread) {
  const std::uint64_t top = thread.registers ? thread.registers->sp : 0;
  const attach::Mapping* stack = target_.maps().find(Addr{top});
  const std::uint64_t size =
      stack == nullptr ? 0 : std::min<std::uint64_t>(stack->end - top, kMaxStack);
  for (std::uint64_t at = 0; at + kStackWord <= size; at += kStackWord) {
    const auto word = reader_.value<std::uint64_t>(Addr{top + at});
    if (!word) {
      break;
    }
    const std::string name = is_written(*word) ? class_of(reader_, Addr{*word}) : std::string();
    const auto* const known = std::ranges::find(kDaemons, name, &DaemonClass::name);
    if (known != kDaemons.end()) {
      return std::pair(Addr{*word}, known);
    }
  }
  return std::nullopt;
}

bool StoreReader::is_map(Addr at) {
  const auto map = reader_.value<MapHead>(at);
  return map && map->load == 1.0F && map->bucket_count > 0 && map->count <= map->bucket_count &&
         (map->count == 0) == (map->first == 0) && is_written(map->buckets);
}

std::optional<Keys> StoreReader::keys_of(Addr map) {
  const auto nodes = nodes_of_table(reader_, map, kMaxKeys);
  if (!nodes) {
    return std::nullopt;
  }
  Keys keys;
  for (const Addr node : *nodes) {
    auto key = read_text(reader_, node + kTableKey, StringAbi::kNew, kMaxKeyBytes);
    const auto value = reader_.value<VectorHead>(node + kVectorInNode);
    if (!key || !value || value->begin > value->end || value->end > value->capacity_end) {
      return std::nullopt;
    }
    keys.emplace(*std::move(key), value->end - value->begin);
  }
  return keys.size() == nodes->size() ? std::optional(std::move(keys)) : std::nullopt;
}

std::optional<std::pair<Keys, Keys>> StoreReader::read(Addr daemon) {
  for (std::uint64_t at = kStackWord; at + 2 * kTableBytes <= kMaxDaemon; at += kStackWord) {
    if (!is_map(daemon + at) || !is_map(daemon + at + kTableBytes)) {
      continue;
    }
    auto keys = keys_of(daemon + at);
    auto awaited = keys ? keys_of(daemon + at + kTableBytes) : std::nullopt;
    return awaited ? std::optional(std::pair(*std::move(keys), *std::move(awaited))) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void collect_store(const attach::Target& target,
                   const std::vector<attach::ThreadState>& threads,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process) {
  const auto thread = std::find_if(
      threads.begin(), threads.end(),
      [](const attach::ThreadState& one) { return one.name.starts_with(kThreadName); });
  if (thread == threads.end()) {
    return;
  }
  StoreReader reader(target);
  const auto daemon = reader.daemon_of(*thread);
  const auto contents = daemon ? reader.read(daemon->first) : std::nullopt;
  if (!contents) {
    return;
  }
  process.store.clear();
  const auto add = [&](const std::string& key, std::uint64_t waiting) {
    // TCPStore puts '/' before each key.
    const std::string_view name = std::string_view(key).substr(key.starts_with('/') ? 1 : 0);
    process.store.push_back({tables.string(mask_text(name)), static_cast<std::uint32_t>(waiting)});
  };
  for (const auto& [key, bytes] : contents->first) {
    add(key, 0);
  }
  for (const auto& [key, bytes] : contents->second) {
    const std::uint64_t waiting = std::min(bytes / daemon->second->client_bytes, kMaxWaiting);
    if (waiting > 0 && !contents->first.contains(key)) {
      add(key, waiting);
    }
  }
}

}  // namespace oddrank::collectives
