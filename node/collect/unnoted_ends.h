// Corrects flight recorders in which PyTorch does not note the ends of NCCL's calls.
#pragma once

#include <cstddef>

#include "snapshot/flight_record.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::node {

// With TORCH_NCCL_BLOCKING_WAIT the watchdog of ProcessGroupNCCL ignores all calls, so every call
// stays open in memory forever (seen with torch 2.11; a dump asks the events itself, and is right).
// Marks these calls of NCCL as ended, since nothing is known of their ends
// (snapshot/flight_record.h). Then keeps the newest `newest` calls; 0: all.
void forget_unnoted_ends(const snapshot::ProcessCapture& process,
                         const snapshot::Tables& tables,
                         std::size_t newest,
                         snapshot::FlightRecord& record);

}  // namespace oddrank::node
