// Corrects which processes are ranks once they have been read: those that have the process group.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Discovery goes by variables, and assumes that a process with a communication library is the rank,
// whatever it waits for (ranks/wrappers.h). If such a Python process has no default group of
// torch.distributed, and processes below it have one each, with threads of its backend, these are
// the ranks; the outer process loses its row. (A forked worker inherits the group's objects, but no
// threads.) They are not if their variables show that they are another job, which the outer process
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
