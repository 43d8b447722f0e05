// Finds and reaches the nodes of a job: the only interface between the commands and SLURM, ssh,
// kubectl, or other means to start programs on other machines. The agent on a node (our own
// program) and its answer (reach/wire/) are the same everywhere.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "reach/wire/answers.h"
#include "snapshot/capture.h"

namespace oddrank::reach {

class FrontEnd {
 public:
  FrontEnd() = default;
  virtual ~FrontEnd() = default;
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;
  FrontEnd(FrontEnd&&) = delete;
  FrontEnd& operator=(FrontEnd&&) = delete;

  // Finds the job and its hosts; called once, first. Returns the facts about the job for a report;
  // its hosts are named as in answers. Errors: no such job (kNotFound), and errors of the front
  // end.
  virtual Result<snapshot::JobInfo> find_job(const Deadline& deadline) = 0;
  // Returns the arguments of `oddrank agent` that name the job.
  virtual std::vector<std::string> job_arguments() const { return {}; }
  // Starts an agent on each host and returns their answers, within a time that follows from the
  // options. Hosts without an answer are not an error: their rows say why. Errors: nothing can be
  // started at all, a relative agent_path or no hosts (kUsage). Even if we are killed, no agent
  // runs for longer than node_timeout + longest_delay plus its own grace.
  virtual Result<GatherResult> gather(const AgentOptions& options) const = 0;
};

}  // namespace oddrank::reach
