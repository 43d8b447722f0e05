// The weakest of facts: a key or a file that a rank waits for is named after another rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (index) whose numbers are in the name, as a part of its own or behind "rank" or
// "worker": 2 of "ready/2", "flag-2.done", "rank2/prepared"; 2 and 3 of "step/3/ready/2", one of
// which may be a count; none of "plan-v2", which is a version. In a path, only the last component
// that has a number counts.
// `first`: the number here of rank 0 of the job that uses the name.
std::set<std::size_t> named_ranks(const JobView& view,
                                  std::string_view name,
                                  std::int32_t first = 0);

// Returns the name of the key or file that the thread waits for or polls; "" if there is none.
std::string awaited_name(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
