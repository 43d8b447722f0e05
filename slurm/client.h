// How SLURM's client programs are called: which environment they get, how long they may take, and
// what their complaints mean.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

// For each single call; a busy controller of a large cluster takes seconds, for which SLURM's own
// MessageTimeout has 10 s by default. One that is away would keep the client for a minute.
inline constexpr std::chrono::milliseconds kClientTimeout{10000};

// `environment` ("NAME=value") as a client should see it: of the variables of SLURM only those that
// say which cluster is meant. Inside of a job the others would change what srun asks for (counts of
// tasks, CPU binding, GPUs, waiting times) and what scontrol prints (date formats).
std::vector<std::string> client_environment(const std::vector<std::string>& environment);
// The same from our own environment.
std::vector<std::string> client_environment();

// Runs a client to its end, at most kClientTimeout long and never beyond `deadline`, and returns
// its stdout. Errors: kNotFound (no SLURM here), kTimeout and others as client_error() tells.
Result<std::string> call_client(std::vector<std::string> argv, const Deadline& deadline);

// What a client said on stderr, as an error. Knows the controller being away (kTimeout), no
// configuration (kNotFound), no munge (kPermission), unknown jobs (kNotFound) and refusals
// (kPermission); everything else is kIo with the client's first words.
Error client_error(std::string_view program, std::string_view said);

// The line that says most: without "srun: error: " and its like, without warnings that mean
// nothing; at most 200 bytes. Empty if there is none.
std::string first_complaint(std::string_view said);
// One line of a client without "scontrol: error: ", "slurm_load_jobs error: " and so on.
std::string_view without_prefix(std::string_view line);

// What is said where the controller does not answer within our deadline, and where there is no
// such program.
Error controller_away();
Error no_slurm(std::string_view program);

}  // namespace oddrank::slurm
