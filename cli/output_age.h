// How long a job's output file has been silent: a first sign of when it stopped.
#pragma once

#include <string>

namespace oddrank::cli {

// "the job's output /x/slurm-7.out has had no line for 47 min"; empty where the file cannot be
// seen from here within a second (its file system may be what hangs), or was written just now.
// Precondition: one thread (it forks).
std::string output_age_note(const std::string& path);

}  // namespace oddrank::cli
