// Reads PyTorch's flight recorders from a process's memory: a ring of the newest calls of a rank,
// which torch keeps from 2.11 on in every job, and before if TORCH_FR_BUFFER_SIZE (or its older
// names) was set. No dump has to be written, and nothing of the target is executed.
//
// The process may be running. A ring counts only if all of it fits one of the layouts
// (recorder_layout.h): sizes, the names of calls, and their numbers, which ascend by one along the
// ring. Calls that were overwritten while the ring was read are left out. If something does not
// fit, the result is an Error, never a guess.
//
// States are as the process knew them: an NCCL call counts as completed once the watchdog has seen
// its event. Source: torch/csrc/distributed/c10d/FlightRecorder.hpp (TraceUtils.h up to 2.5),
// torch/csrc/profiler/combined_traceback.h.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "collectives/torch/recorder_layout.h"
#include "cpython/python_memory.h"
#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

struct RecorderRequest {
  Addr recorder{};  // the object
  // How many of the newest collectives of each group are kept, besides those that have not ended;
  // 0: all calls.
  std::size_t newest = 0;
};

// How many sends and receives of a group are kept for each collective: a step of a pipeline has
// some for each microbatch, and only two steps show what repeats.
inline constexpr std::size_t kTransfersForCall = 4;

// Returns the calls (FlightRecord::from_memory), without rank, process and time. kNotFound: the
// recorder is off, or nothing was recorded. kBadData: it is not a recorder of a known layout.
// `what` is a part of a sentence. `python`: to find the program's lines; may be null.
Result<snapshot::FlightRecord> read_recorder(cpython::RemoteReader& reader,
                                             cpython::PythonMemory* python,
                                             const RecorderRequest& request,
                                             snapshot::Tables& texts);

// Joins the recorders of one process: PyTorch has one for each kind of events. Sorts the calls by
// time, and numbers them anew. Empty if there are none.
std::vector<snapshot::FlightRecord> join_recorders(std::vector<snapshot::FlightRecord> records);

}  // namespace oddrank::collectives
