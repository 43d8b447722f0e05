// A process's place in MPI_COMM_WORLD, read from Open MPI's memory. The variables of mpirun say the
// same, unless an outer launcher's variables hide them, or MPI_Comm_spawn started the process.
//
// Source: Open MPI 4.1 and 5.0. `ompi_mpi_comm_world_addr` points to the communicator, which may
// lie in the program (copy relocation). It has a pointer to its group; a group is an object whose
// first word is the address of `ompi_group_t_class`, followed by a reference count, the number of
// its processes and this process's rank (ompi/group/group.h). So no offset in the communicator,
// which varies between versions, has to be known. MPICH and its relatives export no such symbols.
#pragma once

#include <optional>

#include "attach/target.h"
#include "elf/module_map.h"
#include "ranks/reported_world.h"

namespace oddrank::ranks {

// Returns rank and size; nullopt if there is no Open MPI, it is not initialised, or the process is
// the only one in its world. May block if the target blocks.
std::optional<ReportedWorld> read_mpi_world(const attach::Target& target, elf::ModuleMap& modules);

}  // namespace oddrank::ranks
