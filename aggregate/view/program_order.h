// Which of two ranks that run one program is behind the other.
//
// Both stand in the same functions, called from the same lines in the same turns of their loops,
// down to one in which they part. There, one is behind the other if control may come from its line
// to the other's within the turn, and not back.
#pragma once

#include <cstdint>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

enum class ProgramOrder : std::uint8_t {
  kUnknown = 0,
  kSame,
  kBehind,  // the first has not come as far as the second
  kAhead,
  kApart,  // in two branches, or in two loops: control goes from neither to the other
};

// Compares where the threads stand that speak for the ranks.
ProgramOrder program_order(const JobView& view, const RankView& first, const RankView& second);

}  // namespace oddrank::aggregate
