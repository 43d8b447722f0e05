// Calls SLURM's client programs: sets their environment and time limit, and interprets their
// errors.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

// Time limit of each call. A busy controller of a large cluster takes seconds; SLURM's own
// MessageTimeout is 10 s by default. If the controller is unreachable, the client would hang for a
// minute.
inline constexpr std::chrono::milliseconds kClientTimeout{10000};

// Returns `environment` ("NAME=value") as a client should see it. Keeps only those SLURM variables
// that select the cluster. Inside a job, the others would change what srun requests (task counts,
// CPU binding, GPUs, timeouts) and what scontrol prints (date formats).
std::vector<std::string> client_environment(const std::vector<std::string>& environment);
// Returns the same for our own environment.
std::vector<std::string> client_environment();

// Runs a client to its end, at most kClientTimeout long and never beyond `deadline`, and returns
// its stdout. Errors: kNotFound (no SLURM here), kTimeout and others as in client_error().
Result<std::string> call_client(std::vector<std::string> argv, const Deadline& deadline);

// Converts a client's stderr into an error. Recognises an unreachable controller (kTimeout),
// missing configuration (kNotFound) or munge (kPermission), unknown jobs (kNotFound) and refusals
// (kPermission). Everything else is kIo with the client's first complaint.
Error client_error(std::string_view program, std::string_view said);

// Returns the first meaningful line: without "srun: error: " and the like, and skipping harmless
// warnings; at most 200 bytes. Empty if there is none.
std::string first_complaint(std::string_view said);
// Returns a client's line without "scontrol: error: ", "slurm_load_jobs error: " and so on.
std::string_view without_prefix(std::string_view line);

// Return the errors for a controller that does not answer in time, and for a missing program.
Error controller_away();
Error no_slurm(std::string_view program);

}  // namespace oddrank::slurm
