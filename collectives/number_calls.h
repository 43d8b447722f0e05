// Gives calls their numbers within their groups, from the groups' own counts.
//
// A thread waits in the newest call of a group only if it made that call: it is in a function that
// makes a call and then waits for its end, and no other thread of the process is in a call of that
// group. A call made earlier, for which a thread waits now (Work.wait, DDP's backward), has no
// number here; a flight recorder has it.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Fills CollectiveCall::sequence of calls whose group is known. Precondition: find_calls.
void number_calls(snapshot::ProcessCapture& process, snapshot::Tables& tables);

// Returns the process's row of the call's group; nullptr if the group is unknown.
const snapshot::ProcessGroup* group_of_call(const snapshot::ProcessCapture& process,
                                            const snapshot::CollectiveCall& call);

}  // namespace oddrank::collectives
