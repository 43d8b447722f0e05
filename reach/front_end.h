// How the nodes of a job are found and reached: the one interface between the commands and SLURM,
// ssh, kubectl, or whatever else starts programs on other machines. What runs on a node is the same
// agent everywhere (our own program), and what it answers, too (reach/wire/).
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

  // Finds the job and its hosts, once and before all else. Returns what a report says of the job;
  // its hosts are those of the answers. Errors: no such job (kNotFound), and what the front end
  // says.
  virtual Result<snapshot::JobInfo> find_job(const Deadline& deadline) = 0;
  // Returns what the agents are told of the job, as arguments of `oddrank agent`.
  virtual std::vector<std::string> job_arguments() const { return {}; }
  // Starts an agent on each host and returns their answers, within a time that follows from the
  // options. Hosts without an answer are not an error: their rows say why. Errors: nothing can be
  // started at all, a relative agent_path or no hosts (kUsage). However we exit, no agent of ours
  // runs for longer than node_timeout + longest_delay plus its own grace.
  virtual Result<GatherResult> gather(const AgentOptions& options) const = 0;
};

}  // namespace oddrank::reach
