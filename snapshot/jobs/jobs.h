// The jobs that the ranks of a capture belong to: those of other users, of other SLURM steps, of a
// second run on the same node. A report is about one of them.
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
  kTraining,  // a process of it has a library of collectives or a group, or says its RANK
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

// The same, and those of which only children outlive their ranks.
std::vector<std::string> keys_to_select(const Capture& capture);

// Returns the jobs that a report may be about: those of the highest tier. The one with the most
// ranks is first.
std::vector<JobShare> jobs_to_judge(const Capture& capture);

// Returns the number of ranks that the ranks' process groups have, or else what their variables
// say; -1 if neither is known.
std::int32_t world_size_of(const Capture& capture);

// Returns whether a process of the capture is a rank whose number is known.
bool has_rank(const Capture& capture);

// Removes the processes of all other jobs, and what was read of their flight recorders. Of a node
// without a rank of these jobs it is no longer known which ranks it should have.
void keep_jobs(Capture& capture, const std::vector<std::string>& keys);
void keep_job(Capture& capture, const std::string& key);

// Keeps the job that a user has asked for, and those that work with it: by its key, or, of a SLURM
// job, by "slurm 34" or "34", which means its only step here; the user in a key may be left out.
// The capture gets a note on the jobs that are left out. kNotFound: no job is meant, kUsage:
// several are; the hint lists those that may be chosen, and nothing is removed. A capture without a
// job is left as it is. `together`: sets of jobs that work together (linked_jobs.h).
Status select_job(Capture& capture,
                  const std::string& wanted,
                  const std::vector<std::vector<std::string>>& together = {});

// Returns a line for each: "\n  --select 'slurm 34.0'".
std::string choices(const std::vector<std::string>& keys);

// Before the id of the user in the key of another user's job.
inline constexpr std::string_view kOfUser = " of user ";

// Returns "1001" of "n0:29500 of user 1001"; "" if the key names no user.
std::string_view user_in_key(std::string_view key);

// Returns one job of a capture of several, with the tables that it needs and the job's key as its
// id.
Capture job_of(const Capture& capture, const std::string& key);

}  // namespace oddrank::snapshot
