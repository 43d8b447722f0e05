// Copies this program to the nodes of a job that lack it, and says why that fails.
//
// It uses sbcast, not srun --bcast: if a folder is missing or full on a node, srun leaves a step
// without tasks, which SLURM lists until the job ends (22.05), and does not print the reason.
// sbcast copies to all nodes of the job, so the caller must remove the copy on nodes where no agent
// starts and deletes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "reach/wire/answers.h"
#include "slurm/job.h"
#include "slurm/launch.h"

namespace oddrank::slurm {

// A way to run a copy of this program on a node.
struct CopyWay {
  std::string folder;  // where the copy goes
  // For a folder where programs may not run ("noexec"): the node's python3 reads the copy into
  // memory (memfd_create) and runs it there.
  bool from_memory = false;
};

// Returns the folders of a node for a copy, in this order: /tmp, /dev/shm, $SLURM_TMPDIR and
// $TMPDIR of our own environment, /run/user/UID.
std::vector<std::string> copy_folders();

// Returns all ways, in the order in which they are tried: each folder, and then each from memory.
std::vector<CopyWay> copy_ways(const std::vector<std::string>& folders);

// Makes the step run the copy, which deletes itself when it starts.
void run_copy(AgentStep& step, SentCopy copy, bool from_memory);

// Returns one note for all nodes that ran a copy in the same way.
std::vector<std::string> copy_notes(const std::vector<reach::NodeAnswer>& nodes,
                                    const std::string& program);

// Copies `program` to `path` on all nodes of the job. The error says on which nodes it failed and
// why; nothing is left there.
Status send_program(const Job& job,
                    const std::string& program,
                    const std::string& path,
                    const Deadline& deadline);

// Runs these steps, which remove copies, in parallel; returns when they have ended, after three
// seconds at most.
void run_removals(const std::vector<AgentStep>& steps);

// Returns "n[0-1]: No such file or directory" from sbcast's output; "" if that names no node.
std::string sbcast_complaint(std::string_view said);

}  // namespace oddrank::slurm
