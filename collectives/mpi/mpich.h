// Communicators of MPICH in a target's memory. The library has no symbols for them, and they carry
// no class; they are recognised by their handle and by what must hold between their fields.
//
// Sources: src/include/mpir_objects.h (handles: two bits for where the object lies, four for its
// kind) and mpir_comm.h; offsets measured with 4.0.2. MPICH's relatives (Intel, Cray) are not known
// to have the same layout: where the fields do not fit, nothing is read.
#pragma once

#include <optional>

#include "collectives/mpi/mpi_objects.h"
#include "cpython/remote_reader.h"

namespace oddrank::collectives {

using attach::Addr;

// Returns nullopt if that is no communicator of one group of processes, or does not fit. The
// members of those that are not the world are unknown.
std::optional<MpiCommunicator> read_mpich_communicator(cpython::RemoteReader& reader, Addr object);

}  // namespace oddrank::collectives
