// The jobs that the ranks of a capture belong to: a node may have jobs of several users, SLURM
// steps or runs. A report is about one job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::snapshot {

// How much a job looks like training.
enum class JobTier : std::uint8_t {
  kPrograms = 0,  // sleep, tail, a shell
  kPython,
  kTraining,  // one of its processes has a library of collectives, a group, or the variable RANK
};

struct JobShare {
  std::string key;  // ProcessCapture::job_key
  std::size_t ranks = 0;
  JobTier tier = JobTier::kPrograms;
};

// Returns the jobs of the ranks whose numbers are known, sorted by key.
std::vector<JobShare> jobs_of(const Capture& capture);

// Returns their keys.
std::vector<std::string> job_keys(const Capture& capture);

// Returns the same, and the keys of jobs whose ranks are all gone and only children remain.
std::vector<std::string> keys_to_select(const Capture& capture);

// Returns the jobs that a report may be about, those of the highest tier; the one with the most
// ranks first.
std::vector<JobShare> jobs_to_judge(const Capture& capture);

// Returns the number of ranks by the ranks' process groups, else by their variables; -1 if neither
// is known.
std::int32_t world_size_of(const Capture& capture);

// Returns whether a process of the capture is a rank whose number is known.
bool has_rank(const Capture& capture);

// Remove the processes of all other jobs, and their flight recorders. The expected ranks of a node
// without a rank of these jobs become unknown.
void keep_jobs(Capture& capture, const std::vector<std::string>& keys);
void keep_job(Capture& capture, const std::string& key);

// Keeps the job that a user has asked for, and the jobs that work with it. `wanted`: its key, where
// the user may be left out; or "slurm 34" or "34", if the SLURM job has only one step here. The
// capture gets a note on the jobs that are left out. Fails with kNotFound if no job fits and with
// kUsage if several do; then the hint lists the choices, and nothing is removed. A capture without
// a job is left as it is. `together`: sets of jobs that work together (linked_jobs.h).
Status select_job(Capture& capture,
                  const std::string& wanted,
                  const std::vector<std::vector<std::string>>& together = {});

// Returns a line for each: "\n  --select 'slurm 34.0'".
std::string choices(const std::vector<std::string>& keys);

// Stands before the user's id in the key of another user's job.
inline constexpr std::string_view kOfUser = " of user ";

// Returns "1001" for "n0:29500 of user 1001"; "" if the key names no user.
std::string_view user_in_key(std::string_view key);

// Returns one of several jobs of a capture, with the tables that it needs and the job's key as its
// id.
Capture job_of(const Capture& capture, const std::string& key);

}  // namespace oddrank::snapshot
