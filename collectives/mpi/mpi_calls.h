// Finds the communicator and the request of each thread that waits in MPI, if frames of the library
// lead to them. Reads while the process is open; find_calls.h joins them to the name of the call
// once frames have names.
#pragma once

#include <vector>

#include "attach/address.h"
#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// The words in the frames of one thread inside MPI.
struct MpiThread {
  pid_t tid = 0;
  std::vector<std::vector<attach::PreservedValue>> frames;  // innermost first
};

// Sets the group and the other side in ThreadCapture::call of these threads (its kind is the
// request's, or kRendezvous if none was found), and adds a row to `process.groups` for each
// communicator found. Call it after collect_groups().
//
// A communicator counts only if no other one fits, and if the process's rank in MPI's world is its
// rank in the job; then its members are ranks of the job.
void collect_mpi_calls(const attach::Target& target,
                       const std::vector<MpiThread>& threads,
                       snapshot::Tables& tables,
                       snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
