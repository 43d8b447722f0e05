// Which communicator each thread inside of MPI is in a call of, and which request it waits for, as
// far as the frames of the library hold them. Read while the process is open; joined to the name of
// the call by find_calls.h, once frames have names.
#pragma once

#include <vector>

#include "attach/preserved_value.h"
#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// What the frames of one thread inside of MPI hold.
struct MpiThread {
  pid_t tid = 0;
  std::vector<std::vector<attach::PreservedValue>> frames;  // innermost first
};

// Sets the group and the other side in ThreadCapture::call of these threads (its kind is that of
// the request, or kRendezvous if none was found), and adds a row to `process.groups` for each
// communicator found. Call it after collect_groups().
//
// A communicator is believed only if it is the only one that fits, and if the process's rank in
// MPI's world is the rank that the process is known by; then its members are ranks of the job.
void collect_mpi_calls(const attach::Target& target,
                       const std::vector<MpiThread>& threads,
                       snapshot::Tables& tables,
                       snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
