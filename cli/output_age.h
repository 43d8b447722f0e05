// How long a job has written nothing to its output file: a first sign of when it stopped.
#pragma once

#include <string>

namespace oddrank::cli {

// Returns "the job's output /x/slurm-7.out has had no new line for 47 min". Returns "" if the file
// cannot be read from here within a second (its file system may hang) or was written less than a
// minute ago.
// Precondition: one thread (it forks).
std::string output_age_note(const std::string& path);

}  // namespace oddrank::cli
