// Whether PyTorch notes in its flight recorder when a call of NCCL ends.
#pragma once

#include <cstddef>

#include "snapshot/flight_record.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::node {

// With TORCH_NCCL_BLOCKING_WAIT the watchdog of ProcessGroupNCCL looks after no call, so every call
// stays open in memory for good (seen with torch 2.11; a dump asks the events itself, and is
// right). Marks those calls of NCCL as ended: nothing is known of their ends
// (snapshot/flight_calls.h). Then keeps the newest `newest` calls; 0: all.
void forget_unnoted_ends(const snapshot::ProcessCapture& process,
                         const snapshot::Tables& tables,
                         std::size_t newest,
                         snapshot::FlightRecord& record);

}  // namespace oddrank::node
