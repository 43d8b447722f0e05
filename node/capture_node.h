// One node's capture: discovers the ranks, reads each in a child of its own with a deadline, takes
// several samples, names the frames, joins the waits. What `oddrank node` and `oddrank agent`
// share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/capture_options.h"
#include "node/enough_samples.h"
#include "snapshot/capture.h"

namespace oddrank::node {

struct NodeRequest {
  std::vector<pid_t> pids;  // empty: all ranks of the node
  std::string slurm_job;    // only ranks of this SLURM job
  std::string slurm_step;   // and of this step
  std::string select;       // only ranks whose job_key is this
  pid_t beside = 0;      // only ranks of the job of this process, or of one that it started; 0: any
  bool any_job = false;  // take the ranks of all jobs (the caller tells them apart)
  std::string host;      // name for the report; "" = this host's
  std::function<void(std::size_t done, std::size_t total)> progress;  // may be empty
  // Called before each sample that is taken because the ones before do not decide; may be empty.
  std::function<void(SampleReason reason, std::size_t sample)> sampling_again = {};
};

// Captures this node. Fails if there is nothing to read: no rank on this node (kNotFound), a given
// pid that is gone or may not be read, ranks of several jobs and none selected (kUsage; the hint
// lists them). All other trouble is part of the capture. Precondition: one thread (it forks).
Result<snapshot::Capture> capture_node(const NodeRequest& request, const CaptureOptions& options);

// Returns the kernel's name of this host: what a node is called if the request has no name for it.
std::string host_name();

// Returns the different job keys of the ranks of a capture, sorted.
std::vector<std::string> job_keys(const snapshot::Capture& capture);

// Returns whether a process of the capture is a rank whose number is known.
bool has_rank(const snapshot::Capture& capture);

// Removes the processes of all other jobs.
void keep_job(snapshot::Capture& capture, const std::string& job_key);

}  // namespace oddrank::node
