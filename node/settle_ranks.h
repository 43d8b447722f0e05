// Puts right which process is the rank, after all were read: the one that has the process group.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Discovery takes a process that has loaded a communication library for the rank, whatever it waits
// for (ranks/wrappers.h). If such a process of Python's has no default group of torch.distributed,
// and exactly one process below it with the same rank has one, with threads of its backend, that
// one is the rank; the outer process loses its row. (A forked worker inherits the group's objects,
// but no threads.) An orphan whose stack begins in multiprocessing is no rank, either: it is a
// worker that outlives its rank. Call after the frames have their names.
void settle_ranks(snapshot::Capture& capture);

}  // namespace oddrank::node
