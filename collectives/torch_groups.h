// Reads the process groups of torch.distributed from the tables that its Python module keeps in the
// memory of every process: nothing has to be enabled, nothing of the target is executed.
//
// Sources: torch/distributed/distributed_c10d.py. The globals `_pg_map` (group -> backend, store),
// `_pg_names` and `_pg_group_ranks` (group -> {global rank: rank within}) exist from 1.13 to 2.13;
// `_world._default_pg` from 2.0 on. Before that the default group is a class attribute, which
// cannot be read: we take the oldest group, since no other can be made before the default one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/name_table.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

using attach::Addr;

struct TorchGroup {
  Addr object{};  // the Python object
  Addr store{};   // the store through which its members met, a Python object
  std::string name;
  std::string backend;
  bool is_default = false;
  // Global ranks in the order of their rank within the group. Empty: the default group (not read:
  // all ranks), or not readable.
  std::vector<std::int32_t> members;
};

struct TorchTables {
  std::vector<TorchGroup> groups;  // oldest first
  bool cut = false;                // there are more than kMaxGroups
  std::string init_method;         // of the default group: "tcp://n0:29500"; "" = unknown
  Addr isend{};                    // functions, which show what a P2POp does
  Addr irecv{};
  std::string version;  // of torch, "2.13.0+cpu"; "" = unknown
};

// Reads the tables. `modules`: sys.modules. nullopt: torch.distributed was not imported, or cannot
// be read. Bounded by kMaxGroups and snapshot::kMaxRanks.
std::optional<TorchTables> read_torch_tables(cpython::PythonMemory& memory,
                                             const NameTable& modules);

inline constexpr std::size_t kMaxGroups = 4096;

}  // namespace oddrank::collectives
