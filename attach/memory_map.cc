#include "attach/memory_map.h"

#include <algorithm>
#include <utility>

namespace oddrank::attach {

namespace {

// Nothing is mapped below the first, and no program's memory lies beyond the second (x86-64 with
// five levels of page tables): most words of a stack need no query.
constexpr std::uint64_t kMinAddress = 4096;
constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 56;
// A target can have any number of mappings; words that look like addresses are fewer.
constexpr std::size_t kMaxAsked = 65536;

}  // namespace

MemoryMap::MemoryMap(std::vector<Mapping> mappings, std::shared_ptr<const MappingSource> others)
    : others_(std::move(others)) {
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
  const Mapping* const listed = find_listed(address);
  return listed == nullptr && others_ ? ask(address) : listed;
}

const Mapping* MemoryMap::find_listed(Addr address) const {
  const std::uint64_t wanted = value_of(address);
  const auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), wanted,
      [](std::uint64_t value, const Mapping& mapping) { return value < mapping.start; });
  return after != mappings_.begin() && wanted < std::prev(after)->end ? &*std::prev(after)
                                                                      : nullptr;
}

const Mapping* MemoryMap::ask(Addr address) const {
  const std::uint64_t wanted = value_of(address);
  const auto after = asked_.upper_bound(wanted);
  if (after != asked_.begin() && wanted < std::prev(after)->second.end) {
    return &std::prev(after)->second;
  }
  if (wanted < kMinAddress || wanted >= kMaxAddress || asked_.size() >= kMaxAsked) {
    return nullptr;
  }
  auto mapping = others_->at(address);
  if (!mapping || wanted < mapping->start || wanted >= mapping->end) {
    return nullptr;
  }
  // A mapping that has grown downwards since its query has another start: both are kept.
  const std::uint64_t start = mapping->start;
  return &asked_.insert_or_assign(start, *std::move(mapping)).first->second;
}

}  // namespace oddrank::attach
