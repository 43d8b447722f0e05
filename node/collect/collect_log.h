// Reads lines about a job's communication from the ends of the files that its ranks write to, and
// of the batch script's output if SLURM names it.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Reads stdout and stderr of the ranks of this node if they are regular files, each file once. Uses
// a child with a deadline. Precondition: one thread (it forks).
void collect_log(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Reads JobInfo::output_path, unless an agent has read that file already. Precondition as above.
void collect_job_output(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
