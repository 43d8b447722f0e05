#include "attach/memory_map.h"

#include <algorithm>
#include <utility>

namespace oddrank::attach {

MemoryMap::MemoryMap(std::vector<Mapping> mappings) {
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
  std::uint64_t last_end = 0;
  for (Mapping& mapping : mappings) {
    if (mapping.end <= mapping.start || mapping.start < last_end) {
      continue;
    }
    last_end = mapping.end;
    mappings_.push_back(std::move(mapping));
  }
}

const Mapping* MemoryMap::find(Addr address) const {
  const std::uint64_t wanted = value_of(address);
  const auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), wanted,
      [](std::uint64_t value, const Mapping& mapping) { return value < mapping.start; });
  if (after == mappings_.begin()) {
    return nullptr;
  }
  const Mapping& mapping = *std::prev(after);
  return wanted < mapping.end ? &mapping : nullptr;
}

}  // namespace oddrank::attach
