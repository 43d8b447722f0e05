// Reads the process groups that one rank belongs to while its process is open, and gives group
// objects in the locals of threads their names.
#pragma once

#include <string_view>

#include "cpython/python_process.h"
#include "ranks/reported_world.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Fills `process.groups`, and the version of torch in `process.setup`; leaves them empty if
// torch.distributed is not imported or cannot be read. In the locals of its threads, "<ProcessGroup
// at 0x...>" becomes "<ProcessGroup 5>" if it is one of these groups, and "<ProcessGroup>"
// otherwise: addresses mean nothing outside the process. The functions in a P2POp become "isend"
// and "irecv". Call it after the stacks have been read. Returns the process's place in the job by
// its own memory (reported_world.h).
ranks::ReportedWorld collect_groups(const cpython::PythonProcess& python,
                                    snapshot::Tables& tables,
                                    snapshot::ProcessCapture& process);

// Returns the text of a local that holds that group: "<ProcessGroup 5>".
std::string group_text(std::string_view name);

}  // namespace oddrank::collectives
