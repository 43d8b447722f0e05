// Parses the output of SLURM's clients about a job and its steps.
//
// Uses the text of `scontrol show job ID`, which has hardly changed from 20.11 to 24.11; the JSON
// of squeue may be missing (no plugin) and differs by version. The one-line form (-o) is ambiguous:
// names, comments and commands may contain blanks and '=', and end only at the end of a line.
//
// How much longer a job will run, for the reader of a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/job.h"

namespace oddrank::slurm {

// Returns whether the text is a number of a job or step.
bool is_job_number(std::string_view text);

// Parses the output of `scontrol show job`. Returns the first running record, else the first.
// kBadData if there is none. Unknown fields are ignored, missing ones leave their defaults.
Result<Job> parse_job(std::string_view text);
// Parses the output of `scontrol show step JOB`.
std::vector<Step> parse_steps(std::string_view text);
// Parses "2-01:02:03", "01:02:03", "02:03" -> seconds; -1 for "UNLIMITED", "INVALID", ...
std::int64_t parse_duration(std::string_view text);

// Returns "the job has run for 2 h 3 min, its time limit ends it in 18 min; if a node fails, SLURM
// restarts it from the beginning (Requeue=1), as it has done twice"; "" if none of it is known.
std::string outlook_words(const Job& job);

}  // namespace oddrank::slurm
