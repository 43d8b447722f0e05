// Ranks of a job that run with different set-ups: another version of PyTorch or NCCL, another build
// of a library, another kernel or driver, another value of a variable that all ranks must agree on.
// That causes many hangs, and shows in no stack. A note says which ranks differ; none is accused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

inline constexpr std::size_t kMaxSetupNotes = 6;

// Returns "the set-up differs: rank 3 (n1) has PyTorch 2.12.0, all others have 2.13.0", about ranks
// that were read; the first kMaxSetupNotes, and how many more there are. A property with more than
// three values is each rank's own, and an unknown value is no difference.
std::vector<std::string> setup_notes(const JobView& view);

}  // namespace oddrank::aggregate
