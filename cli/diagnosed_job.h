// Chooses the job that a report is about, if the ranks of a SLURM job belong to several: steps
// beside its training, several runs in one allocation.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::cli {

// Keeps one job of the capture, and notes what was left out and why. Jobs that do not train are
// left out if another one does. If several train and have a rank number in common, keeps the one
// that is held up, or else the one with the most ranks; without a common number, they are parts of
// one job.
void keep_diagnosed_job(snapshot::Capture& capture);

}  // namespace oddrank::cli
