// How much longer a job will run, for the reader of a report.
#pragma once

#include <string>

#include "slurm/job.h"

namespace oddrank::slurm {

// Returns "the job has run for 2 h 3 min, its time limit ends it in 18 min; if a node fails, SLURM
// restarts it from the beginning (Requeue=1), as it has done twice"; "" if none of it is known.
std::string outlook_words(const Job& job);

}  // namespace oddrank::slurm
