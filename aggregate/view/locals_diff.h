// Differences in locals between ranks at the same place: they may be in different iterations.
//
// Within a group of equal stacks, the plain values (numbers, bools, None, short strings) of each
// variable of each frame are compared. A value that most ranks share and some do not shows loop
// skew: `step=1207 on 0-6,8-15; step=1206 on 7`. A counter that lags behind the others comes first.
// Values that are meant to differ (the rank itself, values that grow with it) are left out.
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
  std::vector<std::int32_t> behind;  // if a counter: ranks with a lower value than most

  // Returns "step=1207 on 0-6,8-15; step=1206 on 7"; at most four values.
  std::string words() const;
};

inline constexpr std::size_t kMaxLocalDifferences = 8;

// Compares one group; `ranks`: indices of JobView::ranks(). The most telling difference first;
// empty if nothing differs, or if fewer than two ranks have locals.
std::vector<LocalDifference> diff_locals(const JobView& view,
                                         const std::vector<std::size_t>& ranks);

}  // namespace oddrank::aggregate
