// How ranks of this node without a process ended, from SLURM's daemon of their step
// (ranks/slurm/slurm_step.h).
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds a line (LogKind::kTaskStatus) to the log for each rank that the launcher put on this node,
// that has no process, and that was a task of the remaining ranks' step. Does nothing if no rank is
// missing. Trusts only a slurmstepd of root or of our own user. Uses a child with a deadline.
// Precondition: one thread (it forks). Failures leave nothing.
void collect_step_tasks(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
