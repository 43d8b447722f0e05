// The communicators of those ranks of this node of which NCCL's RAS service told nothing, out of
// their memory. Reading stops nobody and needs no answer, so it is done twice for every version.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds to Capture::collectives.ras what it finds (RasPresence::kMemory); no NCCL is the normal
// case, and what cannot be read becomes one note. After collect_ras; a child with a deadline for
// each rank. Precondition: one thread (it forks).
void collect_nccl_memory(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// The second look, at the end: fills RasRank::later of what the first one found.
void collect_nccl_memory_again(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
