// How long a job may still be looked at, for the reader of a report.
#pragma once

#include <string>

#include "slurm/job.h"

namespace oddrank::slurm {

// "the job has run for 2 h 3 min, its time limit
// ends it in 18 min; if a node fails SLURM starts it from the beginning again (Requeue=1), as it
// has done twice". "" where nothing of it is known.
std::string outlook_words(const Job& job);

}  // namespace oddrank::slurm
