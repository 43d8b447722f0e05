// A table that holds each value once and names it by a small number, in order of first sight.
// Values never move: references stay valid until the table is destroyed (or moved from).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace oddrank::snapshot {

// Hash must hash both Value and View; Value must be constructible from View and == comparable.
template <typename Value, typename View, typename Id, typename Hash>
class InternTable {
 public:
  InternTable() = default;
  InternTable(InternTable&&) noexcept = default;
  InternTable& operator=(InternTable&&) noexcept = default;
  InternTable(const InternTable&) = delete;  // its ids are valid for one table only
  InternTable& operator=(const InternTable&) = delete;
  ~InternTable() = default;

  Id intern(const View& view);
  // Makes room in the index for that many values.
  void reserve(std::size_t values);
  const Value& operator[](Id id) const { return values_[static_cast<std::size_t>(id)]; }
  // Must be called first for ids from outside.
  bool contains(Id id) const { return static_cast<std::size_t>(id) < values_.size(); }
  std::size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  // A slot of the index: open addressing, never more than half full, so that no value needs a node
  // of its own. The mark distinguishes most values without reading them.
  struct Slot {
    std::uint32_t number = 0;  // of the value, from 1; 0: free
    std::uint32_t mark = 0;
  };

  // Hashes of small numbers differ in few bits.
  static std::uint64_t spread(std::size_t hash) { return hash * 0x9e3779b97f4a7c15ULL; }
  static std::uint32_t mark_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
  std::size_t place_of(std::uint64_t hash) const { return hash >> shift_; }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow(std::size_t values);

  std::deque<Value> values_;
  std::vector<Slot> slots_;  // a power of two
  unsigned shift_ = 0;       // from a hash to a slot: its upper bits
};

template <typename Value, typename View, typename Id, typename Hash>
Id InternTable<Value, View, Id, Hash>::intern(const View& view) {
  if (values_.size() >= slots_.size() / 2) {
    grow(values_.size() + 1);
  }
  const std::uint64_t hash = spread(Hash{}(view));
  std::size_t at = place_of(hash);
  for (; slots_[at].number != 0; at = next(at)) {
    const std::uint32_t index = slots_[at].number - 1;
    if (slots_[at].mark == mark_of(hash) && values_[index] == view) {
      return Id{index};
    }
  }
  values_.emplace_back(view);
  slots_[at] = {static_cast<std::uint32_t>(values_.size()), mark_of(hash)};
  return Id{static_cast<std::uint32_t>(values_.size() - 1)};
}

template <typename Value, typename View, typename Id, typename Hash>
void InternTable<Value, View, Id, Hash>::reserve(std::size_t values) {
  if (values > slots_.size() / 2) {
    grow(values);
  }
}

template <typename Value, typename View, typename Id, typename Hash>
void InternTable<Value, View, Id, Hash>::grow(std::size_t values) {
  constexpr std::size_t kMinSlots = 16;
  slots_.assign(std::bit_ceil(2 * values + kMinSlots), Slot());
  shift_ = static_cast<unsigned>(std::countl_zero(slots_.size()) + 1);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::uint64_t hash = spread(Hash{}(values_[i]));
    std::size_t at = place_of(hash);
    while (slots_[at].number != 0) {
      at = next(at);
    }
    slots_[at] = {static_cast<std::uint32_t>(i + 1), mark_of(hash)};
  }
}

// For Hash: mixes one more number into a hash (64-bit variant of boost::hash_combine).
inline std::size_t hash_mix(std::size_t seed, std::uint64_t value) {
  return seed ^ (value * 0x9e3779b97f4a7c15ULL + (seed << 12U) + (seed >> 4U));
}

}  // namespace oddrank::snapshot
