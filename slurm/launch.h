// The srun command that starts agents inside of a running job, and what srun says about it.
//
// One agent a node, as tasks of one more step of the job: beside the ranks (--overlap), without a
// GPU, memory or CPUs of its own, not bound to a CPU, with nothing on stdin.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_command.h"
#include "base/result.h"
#include "slurm/job.h"

namespace oddrank::slurm {

struct AgentStep {
  std::string job;                 // Job::id
  std::vector<std::string> nodes;  // where; one agent on each
  bool whole_job = true;           // `nodes` are all of the job's, and need no naming
  std::vector<HetPart> parts;      // Job::parts
  std::string agent_path;          // absolute, the same on all nodes
  std::vector<std::string> agent_args;
  // Where srun puts a copy of the agent first, on each node; empty: it is there already. The copy
  // is told to delete itself.
  std::string ship_to;
  std::chrono::seconds kill_wait{30};  // srun ends the others so long after the first has ended
};

ProgramCall agent_command(const AgentStep& step);

// What srun wrote about a step, read for the nodes that gave nothing.
struct SrunWords {
  std::map<std::string, std::string> launch_failures;  // host -> "Communication connection failure"
  std::map<std::string, std::string> exits;  // host -> "Exited with exit code 2", "Killed"
  std::map<int, std::string> task_hosts;     // task number -> host
  // SLURM would not have the step at all, on no node: kPermission, kGone, kNotFound or kTimeout.
  std::optional<Error> refusal;
  bool aborted = false;   // SLURM ended all agents for the sake of one node
  std::string complaint;  // the first that is none of the above; may be empty
};

// `text`: srun's stderr, without what carries a task's label.
SrunWords parse_srun_words(std::string_view text);

}  // namespace oddrank::slurm
