// What the output of a job says of its communication: the end of the files that its ranks write to,
// and of the batch script's output where SLURM says where that is.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Of the ranks of this node: their stdout and stderr where these are regular files, each file once.
// In a child with a deadline. Precondition: one thread (it forks).
void collect_log(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// JobInfo::output_path, unless an agent has read that file already.
void collect_job_output(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
