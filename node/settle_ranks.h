// Corrects which process is the rank once all have been read: the one that has the process group.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Discovery assumes that a process with a communication library is the rank, whatever it waits for
// (ranks/wrappers.h). If such a Python process has no default group of torch.distributed, and
// exactly one process below it with the same rank has one, with threads of its backend, that one is
// the rank; the outer process loses its row. (A forked worker inherits the group's objects, but no
// threads.) An orphan whose stack begins in multiprocessing is not a rank either: it is a worker
// that outlives its rank. Call after the frames have their names.
void settle_ranks(snapshot::Capture& capture);

}  // namespace oddrank::node
