// Where the ranks of a job do not run with the same set-up: another version of PyTorch or NCCL,
// another build of a library, another kernel or driver, another value of a variable that all ranks
// must agree on. That is the cause of many hangs, and it shows in no stack. Nobody is accused: a
// note says who differs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

inline constexpr std::size_t kMaxSetupNotes = 6;

// Returns "the set-up differs: rank 3 (n1) has PyTorch 2.12.0, all others have 2.13.0", of ranks
// that were read; the first kMaxSetupNotes, and how many more there are. What has more than three
// values belongs to each rank, and what is unknown of a rank is no difference.
std::vector<std::string> setup_notes(const JobView& view);

}  // namespace oddrank::aggregate
