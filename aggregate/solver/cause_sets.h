// Sets of causes, each kept once: thousands of nodes wait for the same ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace oddrank::aggregate {

using CauseId = std::uint32_t;
using CauseSetId = std::uint32_t;

class CauseSets {
 public:
  static constexpr CauseSetId kNone = 0;                             // the empty set
  static constexpr CauseSetId kEvery = static_cast<CauseSetId>(-1);  // of all causes there may be

  // No real job needs more numbers than this in all sets together. Beyond that, a union is one of
  // its parts, and different sets have nothing in common.
  CauseSets() : CauseSets(std::size_t{1} << 24) {}
  explicit CauseSets(std::size_t max_kept) : sets_(1), max_kept_(max_kept) {}

  CauseSetId only(CauseId cause) { return intern({cause}); }
  CauseSetId unite(CauseSetId a, CauseSetId b);
  CauseSetId unite(std::span<CauseSetId> sets);  // leaves `sets` in any state
  CauseSetId common(CauseSetId a, CauseSetId b);
  // Returns the causes, ascending. Precondition: not kEvery.
  const std::vector<CauseId>& of(CauseSetId id) const { return sets_[id]; }
  bool has(CauseSetId id, CauseId cause) const;
  std::size_t size() const { return sets_.size(); }

 private:
  using Pair = std::pair<CauseSetId, CauseSetId>;

  CauseSetId intern(std::vector<CauseId> causes);

  std::vector<std::vector<CauseId>> sets_;
  std::map<std::vector<CauseId>, CauseSetId> ids_;
  std::map<Pair, CauseSetId> unions_;
  std::size_t kept_ = 0;
  std::size_t max_kept_;
};

}  // namespace oddrank::aggregate
