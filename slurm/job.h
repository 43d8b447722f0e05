// A job as SLURM knows it: owner, nodes, times, and why its ranks may be missing.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

struct Step {
  std::string id;     // "0", "batch", "extern"
  std::string name;   // its program's
  std::string state;  // "RUNNING"
  std::int32_t tasks = -1;
  std::string node_list;

  bool operator==(const Step&) const = default;
};

// One component of a heterogeneous job ("4711+1"): a separate allocation, reached only with srun's
// --het-group.
struct HetPart {
  int group = 0;  // the number after the '+'
  std::string node_list;
  std::vector<std::string> hosts;
  std::int32_t tasks = -1;

  bool operator==(const HetPart&) const = default;
};

struct Job {
  // The number for srun --jobid: an array's task has its own; a heterogeneous job has its first
  // component's, which the ranks see (22.05).
  std::string id;
  std::string label;  // the users' name for it: "5_1" for an array's task, else the id
  std::string name;
  std::string user;
  std::int64_t uid = -1;
  std::string state;               // "RUNNING", "PENDING", ...
  std::string reason;              // why it is pending or failed, in SLURM's word; may be empty
  std::string node_list;           // "n[0-3]"; empty while it has none
  std::vector<std::string> hosts;  // node_list expanded, in SLURM's order
  std::int32_t tasks = -1;         // of `step`, else of the job; with torchrun these are launchers
  std::string step;  // the step of the ranks: the requested one, else the largest; "" = none
  std::vector<Step> steps;
  std::int64_t elapsed_s = -1;
  std::int64_t time_left_s = -1;  // -1: unlimited or unknown
  std::string stdout_path;
  std::optional<bool> requeue;  // SLURM restarts it after a node failure
  std::int32_t restarts = -1;   // number of restarts; -1 = unknown
  std::string end_time;         // as SLURM prints it: the planned end while it runs
  // All running components of a heterogeneous job, whichever was requested, since its ranks wait
  // for each other. `hosts` and `tasks` then cover all components.
  std::vector<HetPart> parts;
  // The running tasks ("5_1", "5_3") if the requested id is an array's; else empty.
  std::vector<std::string> tasks_of_array;

  bool operator==(const Job&) const = default;
};

// An id: "4711", "4711_3" (array task), "4711+1" (part of a het job), each also with ".0" (step).
struct JobId {
  std::string job;
  std::string step;  // empty: not given
};
// Parses such an id; kUsage for any other text.
Result<JobId> parse_job_id(std::string_view text);

// Returns the facts about a job in any state. Errors: kUsage (not a job id), kNotFound (unknown
// job, no SLURM), kTimeout (controller unreachable). If the job runs, also queries its steps and
// expanded node list. Each of the up to three calls has kClientTimeout.
Result<Job> show_job(std::string_view id, const Deadline& deadline);

// Calls show_job, then can_collect for our own user.
Result<Job> find_job(std::string_view id, const Deadline& deadline);

}  // namespace oddrank::slurm
