// The diff of locals: ranks that stand at the same place, in different iterations.
//
// Within a group of equal stacks the plain values (numbers, bools, None, short strings) of the same
// variable of the same frame are compared. What differs on some ranks and agrees on most tells loop
// skew: `step=1207 on 0-6,8-15; step=1206 on 7`. A counter that lags behind the others is told
// first. Values that are meant to differ (the rank itself, what grows with it) are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct LocalValue {
  std::string value;                // printable
  std::vector<std::int32_t> ranks;  // ascending
};

struct LocalDifference {
  std::string name;
  std::string function;              // whose local it is
  std::string place;                 // "train.py:88"
  std::vector<LocalValue> values;    // the most frequent first; then as numbers or text compare
  std::vector<std::int32_t> behind;  // a counter: ranks whose value is lower than most ranks'

  // "step=1207 on 0-6,8-15; step=1206 on 7"; at most `limit` values.
  std::string words(std::size_t limit = 4) const;
};

inline constexpr std::size_t kMostDifferences = 8;

// `ranks`: indices of JobView::ranks(), of one group. The most telling first; empty if nothing
// differs, or where fewer than two ranks have locals.
std::vector<LocalDifference> diff_locals(const JobView& view,
                                         const std::vector<std::size_t>& ranks);

}  // namespace oddrank::aggregate
