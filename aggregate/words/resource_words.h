// The resources that a scheduler within the job cannot give to a rank, in words.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns "a placement group {'GPU': 4.0} * 2 (PACK)", "a task or actor {'CPU': 4.0}, or 2 other
// requests": RankView::wants in words.
std::string resources_words(const JobView& view, const RankView& rank);

// Returns "8 GPU asked for, 0 of 0 free", and which processes have some; for how long the first
// request has been pending, and by which source.
std::string shortage_words(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
