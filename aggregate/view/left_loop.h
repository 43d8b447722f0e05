// Whether a rank has left a loop that another rank is still in.
#pragma once

#include <optional>
#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct LeftLoop {
  std::string place;      // of the loop's current line on the rank that is inside: "train.py:61"
  bool for_good = false;  // the rank is in no outer loop that could lead into that one again
};

// Returns the loop if both ranks are in the same function of the program, `inside` in a loop of it,
// and `rank` behind that loop. nullopt: it has not left it, or that is unknown (only loops of the
// innermost frames are read).
std::optional<LeftLoop> left_loop(const JobView& view,
                                  const RankView& rank,
                                  const RankView& inside);

}  // namespace oddrank::aggregate
