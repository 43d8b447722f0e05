// The ranks that a report names, and those that it may name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "aggregate/diagnosis.h"

namespace oddrank::tests {

using Ranks = std::set<std::int32_t>;

inline Ranks named(const aggregate::Diagnosis& report) {
  Ranks ranks;
  for (const auto& culprit : report.verdict.culprits) {
    ranks.insert(culprit.rank);
  }
  return ranks;
}

inline bool is_subset(const Ranks& part, const Ranks& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// Returns the guilty ranks; if the verdict is missing_rank, also those that are gone.
inline Ranks nameable(const aggregate::Diagnosis& report, Ranks guilty) {
  if (report.verdict.kind == aggregate::Kind::kMissingRank) {
    for (const auto& row : report.coverage.unread) {
      if (row.gone) {
        guilty.insert(row.ranks.begin(), row.ranks.end());
      }
    }
  }
  return guilty;
}

}  // namespace oddrank::tests
