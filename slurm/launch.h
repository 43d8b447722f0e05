// The srun command that starts agents inside a running job, and the meaning of srun's messages.
//
// Each node gets one agent, as a task of an additional step: beside the ranks (--overlap), without
// GPU, memory or CPUs of its own, not bound to a CPU, with an empty stdin.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/programs/child_command.h"
#include "base/result.h"
#include "slurm/job.h"

namespace oddrank::slurm {

// A copy of this program that was sent to nodes (shipment.h).
struct SentCopy {
  std::string path;
  std::size_t way = 0;  // index into copy_ways()
};

struct AgentStep {
  std::string job;                 // Job::id
  std::vector<std::string> nodes;  // where; one agent on each
  bool whole_job = true;           // `nodes` are all nodes of the job, and need not be named
  std::vector<HetPart> parts;      // Job::parts
  std::string agent_path;          // absolute, the same on all nodes
  std::vector<std::string> agent_args;
  std::optional<SentCopy> copy;        // set if the program is a copy
  std::chrono::seconds kill_wait{30};  // srun ends the others this long after the first one exits
};

// Returns the srun command that runs this step.
ProgramCall agent_command(const AgentStep& step);

// What srun wrote about a step; explains nodes without an answer.
struct SrunWords {
  std::map<std::string, std::string> launch_failures;  // host -> "Communication connection failure"
  std::map<std::string, std::string> exits;  // host -> "Exited with exit code 2", "Killed"
  std::map<int, std::string> task_hosts;     // task number -> host
  // SLURM refused the whole step: kPermission, kGone, kNotFound or kTimeout.
  std::optional<Error> refusal;
  bool aborted = false;   // SLURM ended all agents because of one node
  std::string complaint;  // the first message of any other kind; may be empty

  // Returns whether the agent of this host ended, but not because of SLURM or us.
  bool ended_by_itself(const std::string& host) const;
};

// Returns the reason why a node has no answer after its srun ended by itself: "srun: Requested node
// configuration is not available (it ended after 0.1 s)". `heard`: the node's agent had started.
std::string end_words(const std::string& complaint, bool heard, std::chrono::milliseconds after);

// Parses srun's stderr, without lines that carry a task's label.
SrunWords parse_srun_words(std::string_view text);

}  // namespace oddrank::slurm
