// Chooses what a report is about, if the ranks of a SLURM job belong to several jobs: steps beside
// its training, several runs in one allocation.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::cli {

// Keeps one job of the capture, and notes what was left out and why. Jobs that do not train are
// left out if another one does. If several train, each with a rank of the same number, the one that
// is held up is kept, or else the one with the most ranks; otherwise they are parts of one job.
void keep_diagnosed_job(snapshot::Capture& capture);

}  // namespace oddrank::cli
