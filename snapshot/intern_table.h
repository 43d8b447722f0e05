// A table that holds each value once and names it by a small number, in order of first sight.
// Values never move: references stay good until the table is destroyed (or moved from).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace oddrank::snapshot {

// Hash must hash both Value and View; Value must be constructible from View and == comparable.
template <typename Value, typename View, typename Id, typename Hash>
class InternTable {
 public:
  InternTable() = default;
  InternTable(InternTable&&) noexcept = default;
  InternTable& operator=(InternTable&&) noexcept = default;
  InternTable(const InternTable&) = delete;  // the index points into the values
  InternTable& operator=(const InternTable&) = delete;
  ~InternTable() = default;

  Id intern(const View& view) {
    const std::size_t hash = Hash{}(view);
    const auto [first, last] = index_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      if (values_[static_cast<std::size_t>(at->second)] == view) {
        return at->second;
      }
    }
    const Id id{static_cast<std::uint32_t>(values_.size())};
    values_.emplace_back(view);
    index_.emplace(hash, id);
    return id;
  }
  // Room in the index for as many values.
  void reserve(std::size_t values) { index_.reserve(values); }
  const Value& operator[](Id id) const { return values_[static_cast<std::size_t>(id)]; }
  // Ids that came from outside must be checked with this first.
  bool contains(Id id) const { return static_cast<std::size_t>(id) < values_.size(); }
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::deque<Value> values_;
  std::unordered_multimap<std::size_t, Id> index_;
};

// For Hash: mixes one more number into a hash (64-bit variant of boost::hash_combine).
inline std::size_t hash_mix(std::size_t seed, std::uint64_t value) {
  return seed ^ (value * 0x9e3779b97f4a7c15ULL + (seed << 12U) + (seed >> 4U));
}

}  // namespace oddrank::snapshot
