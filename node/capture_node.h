// One node's capture: discovers the ranks, reads each in a child of its own with a deadline, takes
// several samples, names the frames, joins the waits. Shared by `oddrank node` and `oddrank agent`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/drafts.h"
#include "node/enough_samples.h"
#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

inline constexpr std::size_t kAnyUser = ~std::size_t{0};

struct NodeRequest {
  std::vector<pid_t> pids;            // empty: all ranks of the node
  std::string slurm_job;              // only ranks of this SLURM job
  std::string slurm_step;             // and of this step
  std::size_t slurm_user = kAnyUser;  // the number of the user of the SLURM job, if known
  std::string select;                 // only ranks whose job_key is this
  pid_t beside = 0;      // only ranks of this process's job, or of one that it has started; 0: any
  bool any_job = false;  // take the ranks of all jobs (the caller separates them)
  std::string host;      // name for the report; "" = this host's
  std::function<void(std::size_t done, std::size_t total)> progress;  // may be empty
  // Called before each sample beyond the second; may be empty.
  std::function<void(SampleReason reason, std::size_t sample)> sampling_again = {};
  // Takes what has been read so far if the reading takes long (drafts.h); may be empty.
  Drafts::Take draft = {};
};

// Captures this node. A thread's tid in `pids` stands for its process. Fails if there is nothing to
// read: no rank on this node (kNotFound), a given pid that is gone or may not be read, ranks of
// several jobs and none selected (kUsage; the hint lists them). All other problems are recorded in
// the capture. Precondition: one thread (it forks).
Result<snapshot::Capture> capture_node(NodeRequest request, const CaptureOptions& options);

// Returns the kernel's name of this host, which is the node's name if the request has none.
std::string host_name();

}  // namespace oddrank::node
