// A process's place in the job, from its memory: rank and world size of torch's default process
// group, of the call that makes it, or of jax.distributed. Nothing of the target is executed.
//
// Sources: torch/distributed/distributed_c10d.py and rendezvous.py (arguments of the calls, torch
// 1.13 to 2.13), torch/multiprocessing/spawn.py (`_wrap(fn, i, args, ...)`),
// jax/_src/distributed.py (`global_state`: process_id, num_processes, coordinator_address).
#pragma once

#include <string_view>

#include "collectives/name_table.h"
#include "cpython/python_memory.h"
#include "ranks/reported_world.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns the most trusted place (ranks::ReportedBy). `init_method`: of torch's default group, ""
// if unknown. The threads of `process`, with their locals, and its groups must have been read.
ranks::ReportedWorld read_world(cpython::PythonMemory& memory,
                                const NameTable& modules,
                                std::string_view init_method,
                                const snapshot::Tables& tables,
                                const snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
