// Finds the threads of JAX that are in a collective of all processes, by gloo's own objects: XLA
// gives a collective on CPUs no name, and no Python frame has its group. Reads while the process is
// open; find_calls.h joins it to the name of the call once frames have names.
//
// Sources: gloo/context.h and gloo/transport/context.h (the virtual table is followed by `rank` and
// `size`), xla/backends/cpu/collectives/gloo_communicator.h (a communicator begins with its
// context, which has a member for each device). Measured with jaxlib 0.10.2. Not needed for
// PyTorch's gloo, whose groups are known from Python (collect_groups.h).
#pragma once

#include <vector>

#include "attach/address.h"
#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// The words in the frames of one thread inside JAX.
struct JaxThread {
  pid_t tid = 0;
  std::vector<std::vector<attach::PreservedValue>> frames;  // innermost first
};

// Sets the group and its members in ThreadCapture::call of each thread whose frames lead to a
// context of gloo that has as many members as the job has processes, and this process's own rank.
// If the process has other contexts as well (several devices, or meshes of parts of the job),
// members are not ranks, and nothing is set.
void collect_gloo_world(const attach::Target& target,
                        const std::vector<JaxThread>& threads,
                        snapshot::Tables& tables,
                        snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
