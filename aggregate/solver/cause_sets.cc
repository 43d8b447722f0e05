#include "aggregate/solver/cause_sets.h"

#include <algorithm>
#include <iterator>

namespace oddrank::aggregate {

CauseSetId CauseSets::intern(std::vector<CauseId> causes) {
  if (causes.empty()) {
    return kNone;
  }
  const auto [at, is_new] = ids_.try_emplace(std::move(causes), 0);
  if (is_new) {
    at->second = static_cast<CauseSetId>(sets_.size());
    kept_ += at->first.size();
    sets_.push_back(at->first);
  }
  return at->second;
}

CauseSetId CauseSets::unite(CauseSetId a, CauseSetId b) {
  if (a == b || b == kNone || a == kEvery) {
    return a;
  }
  if (a == kNone || b == kEvery || kept_ > max_kept_) {
    return a == kNone ? b : b == kEvery ? b : a;
  }
  const auto [at, is_new] = unions_.try_emplace(std::minmax(a, b), kNone);
  if (is_new) {
    std::vector<CauseId> both;
    std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                   std::back_inserter(both));
    at->second = intern(std::move(both));
  }
  return at->second;
}

// By halves: one by one, all intermediate sets would be kept, with a number for each pair of
// causes.
CauseSetId CauseSets::unite(std::span<CauseSetId> sets) {
  std::ranges::sort(sets);
  std::size_t size = static_cast<std::size_t>(std::unique(sets.begin(), sets.end()) - sets.begin());
  while (size > 1) {
    for (std::size_t at = 0; at + 1 < size; at += 2) {
      sets[at / 2] = unite(sets[at], sets[at + 1]);
    }
    if (size % 2 == 1) {
      sets[size / 2] = sets[size - 1];
    }
    size = (size + 1) / 2;
  }
  return size == 0 ? kNone : sets.front();
}

CauseSetId CauseSets::common(CauseSetId a, CauseSetId b) {
  if (a == b || b == kEvery || a == kNone) {
    return a;
  }
  if (a == kEvery || b == kNone) {
    return b;
  }
  if (kept_ > max_kept_) {
    return kNone;
  }
  std::vector<CauseId> both;
  std::set_intersection(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                        std::back_inserter(both));
  return intern(std::move(both));
}

bool CauseSets::has(CauseSetId id, CauseId cause) const {
  return std::ranges::binary_search(sets_[id], cause);
}

}  // namespace oddrank::aggregate
