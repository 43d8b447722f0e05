// One agent a node, all answers back: the captures of a running job's nodes as bytes.
//
// The agent is our own binary, as a task of a step of the job (launch.h). It writes to its stdout
// encode_hello() at once and encode_frames() of its capture at the end (frames.h), with
// SLURMD_NODENAME as its host; what it writes to stderr is kept for the report of its failure. It
// is expected to end itself before `node_timeout`.
//
// A node that has no such file is sent one (srun --bcast) into /tmp, which the agent deletes.
//
// Nodes that were not heard of when most others were, or when srun gave up, are tried once more,
// each with an srun of its own: one node that is down does not take the others with it. Whatever
// the outcome, every srun of ours has ended or was told to when gather() returns, and with it its
// step and agents. One that still waits for a node which does not answer SLURM takes until SLURM's
// own message timeout for that, without us.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/answers.h"
#include "slurm/job.h"

namespace oddrank::slurm {

struct GatherOptions : AgentOptions {
  // Where the agent is sent to: a folder that each node has for itself, since who begins deletes
  // it.
  std::string send_to = "/tmp";
  // Beyond node_timeout: for SLURM to start the agents, and for the answers to arrive.
  std::chrono::milliseconds slack{2000};
  std::size_t retries_at_once = 16;
  // A folder that all nodes share, for answers of many nodes; empty: through srun. See drop_box.h.
  std::string via = {};
};

// Errors: no srun here (kNotFound), SLURM refuses the step as a whole (kPermission, kGone,
// kNotFound, kTimeout), a relative agent_path or a job without hosts (kUsage). Nodes without an
// answer are no error. Returns within node_timeout + slack + 4 s.
Result<GatherResult> gather(const Job& job, const GatherOptions& options);

}  // namespace oddrank::slurm
