// Communicators and requests of MPICH in a target's memory. The library has no symbols for them,
// and they carry no class; they are recognised by their handle and by relations between their
// fields.
//
// Sources: src/include/mpir_objects.h (handles: two bits for where the object lies, four for its
// kind), mpir_comm.h, mpir_request.h, src/mpid/ch4/include/mpidpre.h (rank maps, parts of windows);
// offsets measured with 4.0.2. The source of a receive is only in the memory of its fabric:
// measured with the tcp provider of libfabric 1.17. MPICH's relatives (Intel, Cray) may have
// another layout: if the fields do not fit, nothing is read.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/mpi/mpi_objects.h"
#include "cpython/remote_reader.h"

namespace oddrank::collectives {

using attach::Addr;

// Returns nullopt if it is not a communicator of one group of processes, or does not fit. Without a
// map of ranks, members are unknown except for the world.
std::optional<MpiCommunicator> read_mpich_communicator(cpython::RemoteReader& reader, Addr object);

// Returns whether the object is a window. The offsets of its fields are unknown; one of them leads
// to its communicator.
bool is_mpich_window(cpython::RemoteReader& reader, Addr object);

// Returns the locks of a window if the object is its record of one rank's part, and the process
// requests the lock of that part: nothing else leads from a call to its window. The process's own
// locks include shared ones (MPI_LOCK_SHARED): a process that waits for one of these wants it
// exclusively.
std::optional<WindowLocks> read_mpich_locks(cpython::RemoteReader& reader, Addr record);

// A request that is not complete.
struct MpichRequest {
  MpiRequestKind kind = MpiRequestKind::kRecv;
  Addr communicator{};         // of a nonblocking collective; null for others
  std::int32_t context = -1;   // of a receive whose entry in the fabric was read; else -1
  bool of_collective = false;  // a receive that is a part of a collective
  std::int32_t source = -1;    // rank in the communicator; -1: any, or unknown
  std::int32_t tag = -1;
  std::int64_t posted = -1;  // number of this receive among all that the process has posted
};

// Returns nullopt if the object is not a request, or it is complete.
std::optional<MpichRequest> read_mpich_request(cpython::RemoteReader& reader, Addr object);

}  // namespace oddrank::collectives
