// Corrects which processes are ranks once they have been read: ranks have the process group.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Discovery uses variables, and takes a process with a communication library for the rank, whatever
// it waits for (ranks/wrappers.h). If such a Python process has no default group of
// torch.distributed, and processes below it have one each, with threads of its backend, these are
// the ranks, and the outer process loses its row. (A forked worker inherits the group's objects,
// but no threads.) That is not so if their variables belong to another job, which the outer process
// has started, or if ranks of the same number are elsewhere on the node.
//
// An orphan whose stack begins in multiprocessing is not a rank either: it is a worker that
// outlives its rank. If the numbers of a rank's group differ from its variables, a note says so.
//
// Call it after the first sample, when frames have no names yet, and again when they have.
void settle_ranks(snapshot::Capture& capture);

// Adds what the processes of a node show of their job. Call it once all calls are known.
void settle_job(snapshot::Capture& capture);

}  // namespace oddrank::node
