// Reads the flight recorders of a process from its memory: finds them in PyTorch's libraries, by
// symbol or else by their shape, and reads each (collectives/torch/recorder.h).
#pragma once

#include <cstddef>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_memory.h"
#include "elf/module_map.h"
#include "node/collect/recorder_variables.h"
#include "snapshot/flight_record.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::node {

struct RecordersWanted {
  // How many calls of each group are kept, with times to the second if they have ended; 0: all.
  std::size_t newest = 0;
  std::vector<RecorderVariables> known;  // of libraries that need not be searched again
};

// Returns one record, of all recorders together, with rank, process and members of `process`, whose
// groups were read before; without a time. kNotFound: the process has no PyTorch, or its recorders
// are off or empty. kBadData: a recorder has no known layout. Opens the libraries' files, which may
// block. `python`: may be null.
Result<snapshot::FlightRecord> read_recorders(const attach::Target& target,
                                              elf::ModuleMap& modules,
                                              cpython::PythonMemory* python,
                                              const snapshot::ProcessCapture& process,
                                              const RecordersWanted& wanted,
                                              snapshot::Tables& tables);

}  // namespace oddrank::node
