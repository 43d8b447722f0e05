// Reads from the memory of ranks of this node what NCCL's proxies have under way, who has come to
// the creation of a communicator, and their communicators, if NCCL's RAS service did not report
// them. This stops no thread and needs no answer, so it is done twice, whatever the version.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds their communicators (RasPresence::kMemory) to Capture::collectives.ras, and fills
// ProcessCapture::proxies and heads. A rank without NCCL is normal; failures become one note. Each
// rank has a child with a deadline. Call it after collect_ras. Precondition: one thread (it forks).
void collect_nccl_memory(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Fills RasRank::later, ProxyTransfer::still and CollnetHead::still for the ranks of the first
// pass, and ProcessCapture::roots, at the end of a capture.
void collect_nccl_memory_again(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
