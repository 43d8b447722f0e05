// Calls that are on no stack, but in NCCL's own counts (sources/ras_job.h): ranks that have
// launched more of an operation than other members of a communicator, and wait for their devices,
// wait for these members. Counts that moved, or were read once, show nothing.
#pragma once

#include <vector>

#include "aggregate/evidence/slots.h"

namespace oddrank::aggregate {

// Returns a slot for each such communicator. Nothing shows whom they wait for if a member that has
// launched the call does not wait, or is not of the job.
std::vector<Slot> launched_slots(const JobView& view);

}  // namespace oddrank::aggregate
