// How ranks of this node ended that have no process any more, as SLURM's daemon of their step knows
// it (ranks/slurm/step_tasks.h).
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds a line (LogKind::kTaskStatus) to the log for each rank that the launcher put on this node,
// that has no process, and that was a task of the step of those that are left. Asks nobody if no
// rank is missing. Believes only a slurmstepd of root's or of our own user. Uses a child with a
// deadline. Precondition: one thread (it forks). Failures leave nothing.
void collect_step_tasks(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
