// Gives calls their numbers within their groups, from the groups' own counts.
//
// A thread waits in the newest call of a group only if it made that call: it is in a function that
// makes a call and then waits for its end, and no other thread of the process is in a call of that
// group. A call made earlier, for which a thread waits now (Work.wait, DDP's backward), has no
// number here; a flight recorder has it.
//
// The calls of ranks that wait for their devices, if no recorder has them (older versions of
// PyTorch have theirs off by default): the group's own count is the number of the newest call.
#pragma once

#include "snapshot/capture.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Fills CollectiveCall::sequence of calls whose group is known. Precondition: find_calls.
void number_calls(snapshot::ProcessCapture& process, snapshot::Tables& tables);

// Returns the process's row of the call's group; nullptr if the group is unknown.
const snapshot::ProcessGroup* group_of_call(const snapshot::ProcessCapture& process,
                                            const snapshot::CollectiveCall& call);

// Adds a call without an operation to the main thread of each such rank, if only one of its groups
// has calls for devices, and none of them is a send or receive. The device may be at an older call,
// or at other work; but if it is stuck there, it has not reached the newest call either.
// Precondition: join_flight (join_flight.h), with all dumps.
void add_counted_calls(snapshot::Capture& capture);

}  // namespace oddrank::collectives
