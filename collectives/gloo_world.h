// Which threads of JAX are in a collective of all processes, read from gloo's own objects: XLA
// gives a collective on CPUs no name, and no Python frame tells its group. Read while the process
// is open; joined to the name of the call by find_calls.h, once frames have names.
//
// Sources: gloo/context.h and gloo/transport/context.h (the virtual table is followed by `rank` and
// `size`), xla/backends/cpu/collectives/gloo_communicator.h (a communicator begins with its
// context, which has a member for each device). Measured with jaxlib 0.10.2. PyTorch's gloo needs
// none of this: its groups are known from Python (collect_groups.h).
#pragma once

#include <vector>

#include "attach/preserved_value.h"
#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// What the frames of one thread inside of JAX hold.
struct JaxThread {
  pid_t tid = 0;
  std::vector<std::vector<attach::PreservedValue>> frames;  // innermost first
};

// Sets the group and its members in ThreadCapture::call of each thread whose frames hold a context
// of gloo of as many members as the job has processes, in which this process has its own rank. If
// the process holds others as well (it has several devices, or meshes of parts of the job), members
// are no ranks, and nothing is set.
void collect_gloo_world(const attach::Target& target,
                        const std::vector<JaxThread>& threads,
                        snapshot::Tables& tables,
                        snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
