// Starts one agent on each node of a running job and returns their answers: captures as bytes.
//
// The agent is our own binary, as a task of a step of the job (launch.h). It writes to its stdout
// encode_hello() at once and encode_frames() of its capture at the end (reach/wire/frames.h), with
// SLURMD_NODENAME as its host; its stderr is kept to explain a failure. It should exit before
// `node_timeout`, or report why it does not (encode_doing()).
//
// If a node lacks the file, a copy is sent (shipment.h) to the first folder from which it can run,
// or else runs from memory. The agent deletes its copy; we remove copies whose agent did not start.
//
// Nodes that are silent when most others have started, or when srun has given up, are retried once,
// each with its own srun, so that a dead node affects no others. When gather() returns, every srun
// of ours has exited or was terminated, with its step and agents. If an srun waits for a node that
// does not answer SLURM, it exits by itself at SLURM's message timeout.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "reach/wire/answers.h"
#include "slurm/job.h"

namespace oddrank::slurm {

struct StepOptions {
  // Node-local folders that the agent is copied to, tried in turn (shipment.h). Not a shared one:
  // each agent deletes its copy. Empty: copy_folders().
  std::vector<std::string> send_to = {};
  // Time beyond node_timeout for SLURM to start the agents and for the answers to arrive.
  std::chrono::milliseconds slack{2000};
  std::size_t retries_at_once = 16;
  // A folder that all nodes share, for the answers of many nodes (reach/wire/drop_box.h). Empty:
  // answers come through srun.
  std::string shared_folder = {};
};

struct GatherOptions : reach::AgentOptions, StepOptions {};

// Errors: no srun here (kNotFound), SLURM refuses the step as a whole (kPermission, kGone,
// kNotFound, kTimeout), a relative agent_path or a job without hosts (kUsage). Nodes without an
// answer are not an error. Returns within node_timeout + slack + 4 s, or longest_delay later if an
// agent reported that it takes longer.
Result<reach::GatherResult> gather(const Job& job, const GatherOptions& options);

}  // namespace oddrank::slurm
