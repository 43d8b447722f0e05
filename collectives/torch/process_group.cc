#include "collectives/torch/process_group.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <set>
#include <utility>

#include "base/machine.h"
#include "base/parse_number.h"
#include "collectives/torch/cxx_object.h"

namespace oddrank::collectives {
namespace {

using attach::ReadRequest;
using cpython::PythonMemory;
using cpython::RemoteReader;

// c10d::ProcessGroup, 2.0 to 2.15.
constexpr std::uint64_t kRank = 24;
constexpr std::uint64_t kSize = 28;
constexpr std::uint64_t kFirstMap = 64;
constexpr std::uint64_t kLastMap = 448;
constexpr std::int32_t kMaxGroupSize = 1 << 24;

// libstdc++'s std::unordered_map with integers for keys.
constexpr std::uint64_t kMapBuckets = 8;
constexpr std::uint64_t kMapFirst = 16;
constexpr std::uint64_t kMapSize = 24;
constexpr std::uint64_t kMapLoadFactor = 32;
constexpr std::uint64_t kNodeKey = 8;
constexpr std::uint64_t kNodeValue = 16;
constexpr std::uint64_t kMaxBackends = 16;
constexpr std::uint8_t kMaxKey = 64;  // BackendType, DeviceType

constexpr std::size_t kMaxVirtuals = 160;
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 48;
constexpr int kMaxGroupWrappers = 4;
constexpr std::uint64_t kFirstMember = 24;  // of a wrapper: behind the counts, rank and size
constexpr std::uint64_t kLastMember = 512;

// scripts/torch_offsets compares this table with wheels.
struct NumberOffset {
  std::string_view backend;
  int first = 0;  // versions
  int last = 0;
  std::uint32_t offset = 0;
};
constexpr std::array kNumberOffsets = std::to_array<NumberOffset>({
    {"gloo", 204, 206, 0x190},
    {"gloo", 207, 207, 0x1c0},
    {"gloo", 208, 213, 0x1c8},
    {"gloo", 214, 215, 0x1e8},
    {"nccl", 204, 205, 0x3e0},
    {"nccl", 206, 206, 0x3d8},
    {"nccl", 207, 207, 0x480},
    {"nccl", 208, 208, 0x3e0},
    {"nccl", 209, 211, 0x3e8},
    {"nccl", 212, 213, 0x410},
    {"nccl", 214, 215, 0x418},
    {"nccl2", 214, 214, 0x140},
    {"nccl2", 215, 215, 0x138},
});

constexpr std::string_view kGroupClass = "ProcessGroup";

// Returns "ProcessGroupGloo" for "N4c10d16ProcessGroupGlooE"; "" if it is not a class of c10d.
std::string_view class_in_c10d(std::string_view mangled) {
  constexpr std::string_view kStart = "N4c10d";
  if (!mangled.starts_with(kStart) || !mangled.ends_with('E')) {
    return {};
  }
  mangled.remove_prefix(kStart.size());
  mangled.remove_suffix(1);
  // The last part of the name: "5nccl216ProcessGroupNCCL" has two.
  std::string_view part;
  while (!mangled.empty()) {
    std::size_t digits = 0;
    while (digits < mangled.size() && digits < 3 && mangled[digits] >= '0' &&
           mangled[digits] <= '9') {
      ++digits;
    }
    const auto length = parse_number<std::size_t>(mangled.substr(0, digits));
    if (!length || *length == 0 || digits + *length > mangled.size()) {
      return {};
    }
    part = mangled.substr(digits, *length);
    mangled.remove_prefix(digits + *length);
  }
  return part;
}

// Returns "gloo" for "N4c10d16ProcessGroupGlooE", "nccl2" for "N4c10d5nccl216ProcessGroupNCCLE".
std::string backend_name(std::string_view mangled) {
  constexpr std::string_view kSecond = "N4c10d5nccl2";
  if (mangled.starts_with(kSecond)) {
    return "nccl2";
  }
  std::string_view name = class_in_c10d(mangled);
  name.remove_prefix(name.starts_with(kGroupClass) ? kGroupClass.size() : 0);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool is_backend_class(std::string_view mangled) {
  const std::string_view name = class_in_c10d(mangled);
  return name.starts_with(kGroupClass) && name.size() > kGroupClass.size();
}

bool wraps_backend(std::string_view mangled) {
  return class_in_c10d(mangled) == "ProcessGroupWrapper";
}

bool is_group_class(std::string_view mangled) {
  const std::string_view name = class_in_c10d(mangled);
  return name == kGroupClass || name == "PyProcessGroup";
}

bool is_map(RemoteReader& reader, Addr map) {
  const auto factor = reader.value<float>(map + kMapLoadFactor);
  const auto buckets = reader.value<std::uint64_t>(map + kMapBuckets);
  const auto size = reader.value<std::uint64_t>(map + kMapSize);
  return factor == 1.0F && buckets && *buckets > 0 && *buckets <= 1024 && size && *size > 0 &&
         *size <= kMaxBackends && reader.pointer_or_null(map) != Addr{};
}

std::int64_t counter_at(RemoteReader& reader, Addr at) {
  const auto value = reader.value<std::int64_t>(at);
  return value && *value >= 0 && *value < kMaxNumber ? *value : -1;
}

}  // namespace

int torch_version_number(std::string_view version) {
  const auto dot = version.find('.');
  const auto end =
      dot == std::string_view::npos ? dot : version.find_first_not_of("0123456789", dot + 1);
  if (dot == std::string_view::npos) {
    return 0;
  }
  const auto major = parse_number<int>(version.substr(0, dot));
  const auto minor = parse_number<int>(
      version.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1));
  return major && minor && *major > 0 && *major < 100 && *minor >= 0 && *minor < 100
             ? *major * 100 + *minor
             : 0;
}

std::string torch_version_text(int number) {
  return std::to_string(number / 100) + "." + std::to_string(number % 100);
}

// The table was measured on x86-64; mutexes before the member are larger elsewhere.
std::optional<std::uint32_t> measured_number_offset(std::string_view backend, int version) {
  if (kOurMachine != Machine::kAmd64) {
    return std::nullopt;
  }
  const auto* const at =
      std::find_if(kNumberOffsets.begin(), kNumberOffsets.end(), [&](const NumberOffset& row) {
        return row.backend == backend && version >= row.first && version <= row.last;
      });
  return at == kNumberOffsets.end() ? std::nullopt : std::optional(at->offset);
}

GroupReader::GroupReader(PythonMemory& memory, std::string_view version)
    : memory_(memory), version_(torch_version_number(version)) {}

std::optional<GroupMemory> GroupReader::read(Addr object) {
  const Addr group =
      object == Addr{} ? Addr{} : memory_.pointer_or_null(object + memory_.layout().object.head);
  const std::string name = class_of(memory_, group);
  GroupMemory result;
  std::vector<Addr> backends;
  if (is_group_class(name)) {
    const auto rank = memory_.value<std::int32_t>(group + kRank);
    const auto size = memory_.value<std::int32_t>(group + kSize);
    if (!rank || !size || *size < 1 || *size > kMaxGroupSize || *rank < 0 || *rank >= *size) {
      return std::nullopt;
    }
    result.rank = *rank;
    result.size = *size;
    backends = backends_of(group);
  } else if (is_backend_class(name)) {
    backends = {group};  // up to 1.13 a group was a backend
  } else {
    return std::nullopt;
  }
  for (const Addr backend : backends) {
    if (auto counts = counts_of(unwrapped(backend))) {
      result.backends.push_back(std::move(*counts));
    }
  }
  return result;
}

std::vector<Addr> GroupReader::backends_of(Addr group) {
  std::vector<Addr> backends;
  for (std::uint64_t at = kFirstMap; at <= kLastMap; at += 8) {
    if (is_map(memory_, group + at)) {
      add_backends(group + at, backends);
    }
  }
  return backends;
}

void GroupReader::add_backends(Addr map, std::vector<Addr>& backends) {
  const auto size = memory_.value<std::uint64_t>(map + kMapSize).value_or(0);
  Addr node = memory_.pointer_or_null(map + kMapFirst);
  std::vector<Addr> found;
  for (std::uint64_t i = 0; i < size && node != Addr{}; ++i) {
    const auto key = memory_.value<std::uint8_t>(node + kNodeKey);
    const Addr backend = memory_.pointer_or_null(node + kNodeValue);
    if (!key || *key >= kMaxKey || !is_backend_class(class_of(memory_, backend))) {
      return;  // a map of something else
    }
    found.push_back(backend);
    node = memory_.pointer_or_null(node);
  }
  for (const Addr backend : found) {
    if (std::find(backends.begin(), backends.end(), backend) == backends.end()) {
      backends.push_back(backend);
    }
  }
}

Addr GroupReader::unwrapped(Addr backend) {
  for (int i = 0; i < kMaxGroupWrappers && wraps_backend(class_of(memory_, backend)); ++i) {
    Addr inner{};
    // The wrapped backend is the first of its members that is a backend.
    for (std::uint64_t at = kFirstMember; at < kLastMember && inner == Addr{}; at += 8) {
      const Addr member = memory_.pointer_or_null(backend + at);
      inner = member != backend && is_backend_class(class_of(memory_, member)) ? member : Addr{};
    }
    if (inner == Addr{}) {
      return {};
    }
    backend = inner;
  }
  return backend;
}

std::optional<BackendCounts> GroupReader::counts_of(Addr backend) {
  if (backend == Addr{}) {
    return std::nullopt;
  }
  const ClassOffsets& known = class_offsets(backend);
  if (known.name.empty()) {
    return std::nullopt;
  }
  BackendCounts counts;
  counts.backend = backend_name(known.name);
  counts.mixed = counts.backend != "nccl" && counts.backend != "xccl";
  if (known.number) {
    counts.collectives = counter_at(memory_, backend + *known.number);
    // ProcessGroupNCCL.hpp: seqP2P_ follows seqCollective_.
    counts.transfers =
        counts.backend == "nccl" ? counter_at(memory_, backend + *known.number + 8) : -1;
  }
  return counts;
}

const GroupReader::ClassOffsets& GroupReader::class_offsets(Addr backend) {
  const Addr table = memory_.pointer_or_null(backend);
  const auto [at, is_new] = classes_.try_emplace(value_of(table));
  if (is_new) {
    at->second.name = class_of(memory_, backend);
    at->second.number = offset_in_table(table);
    if (!at->second.number) {
      at->second.number = measured_number_offset(backend_name(at->second.name), version_);
    }
  }
  return at->second;
}

// The getter follows setSequenceNumberForGroup, which does nothing in backends that begin with 0:
// where several functions look like getters, the one behind an empty function is meant.
std::optional<std::uint32_t> GroupReader::offset_in_table(Addr table) const {
  const attach::Target& target = memory_.target();
  std::vector<std::uint64_t> functions(kMaxVirtuals);
  std::array<ReadRequest, 1> whole = {
      ReadRequest{table, std::as_writable_bytes(std::span(functions)), 0}};
  target.read_many(whole);
  functions.resize(whole.front().got / sizeof functions.front());
  const auto end = std::find_if(functions.begin(), functions.end(), [&](std::uint64_t function) {
    const attach::Mapping* mapping = target.maps().find(Addr{function});
    return mapping == nullptr || !mapping->executable;
  });
  functions.erase(end, functions.end());
  std::vector<std::array<std::byte, kGetterBytes>> codes(functions.size());
  std::vector<ReadRequest> requests;
  requests.reserve(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    requests.push_back({Addr{functions[i]}, codes[i], 0});
  }
  target.read_many(requests);
  std::set<std::uint32_t> all;
  std::set<std::uint32_t> behind_empty;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto code = [&](std::size_t index) {
      return std::span<const std::byte>(codes[index]).first(requests[index].got);
    };
    if (const auto offset = offset_in_getter(code(i))) {
      all.insert(*offset);
      if (i > 0 && is_empty_function(code(i - 1))) {
        behind_empty.insert(*offset);
      }
    }
  }
  const std::set<std::uint32_t>& best = all.size() == 1 ? all : behind_empty;
  return best.size() == 1 ? std::optional(*best.begin()) : std::nullopt;
}

}  // namespace oddrank::collectives
