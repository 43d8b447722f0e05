// The weakest of facts: a key or a file that a rank waits for is named after another rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (index) whose numbers are in the name, alone between separators or behind
// "rank" or "worker": 2 for "ready/2", "flag-2.done", "rank2/prepared"; 2 and 3 for
// "step/3/ready/2", where one may be a count; none for "plan-v2", a version. In a path, only the
// last component that has a number counts.
// `first`: the rank here that is rank 0 in the job that uses the name.
std::set<std::size_t> named_ranks(const JobView& view,
                                  std::string_view name,
                                  std::int32_t first = 0);

// Returns the name of the key or file that the thread waits for or polls; "" if there is none.
std::string awaited_name(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
