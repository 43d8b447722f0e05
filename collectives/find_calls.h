// Finds which collective each thread is in, from its frames and their locals. Pure: works on a
// capture whose frames have their names.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Joins the calls of collect_mpi_calls() in ThreadCapture::call to the names of MPI's functions, or
// drops them.
//
// Fills ThreadCapture::call of every thread whose stack is inside a call of torch.distributed,
// c10d, gloo, NCCL or MPI. The group is known only with evidence: the frame's local `group` is one
// of ProcessCapture::groups or None (the default group of all ranks), or the process has no other;
// otherwise it is unknown. The call's number is the number of the group's newest call, if this
// thread must have made it: it is inside a function that makes a call and waits for it, and no
// other thread is in a call of that group.
void find_calls(snapshot::Capture& capture);

}  // namespace oddrank::collectives
