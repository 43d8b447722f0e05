// A process group's C++ object, found through its Python object: this process's rank in it, its
// size, and how many calls each of its backends was given. Every PyTorch job has these numbers;
// nothing has to be enabled, and nothing of the target is executed.
//
//   Python object (pybind11)  head, pointer to the C++ object
//   -> c10d::ProcessGroup     rank, size, maps of backends (std::unordered_map)
//   -> c10d::Backend          virtual table; at an offset of its class: the number
//
// The maps are recognised by their shape. The number's offset comes from the code of the getter in
// the virtual table (cxx_object.h), or from a table of measured offsets if the code cannot be read,
// as in a core file without its libraries. A ProcessGroupWrapper (TORCH_DISTRIBUTED_DEBUG=DETAIL)
// leads to the backend that it wraps.
//
// Sources: torch/csrc/distributed/c10d/{ProcessGroup,Backend,ProcessGroupGloo,ProcessGroupNCCL,
// ProcessGroupWrapper}.hpp and the public wheels of 2.4 to 2.15; seen live with gloo
// (docs/collectives.md says with which versions).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/torch/cxx_object.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

struct BackendCounts {
  std::string backend;            // "gloo", "nccl"; in lower case
  std::int64_t collectives = -1;  // number of the newest collective; 0: there was none; -1: unknown
  std::int64_t transfers = -1;    // of the newest send or receive; -1: not counted separately
  // Collectives and transfers share one count, as in gloo (measured with torch 2.13). Assumed
  // unless a backend is known to count them separately.
  bool mixed = true;
};

struct GroupMemory {
  std::int32_t rank = -1;  // within the group
  std::int32_t size = -1;
  std::vector<BackendCounts> backends;  // each once
};

// Reads groups of one process. Caches classes, so that many groups cost little.
class GroupReader {
 public:
  // `version`: of torch, "2.13.0+cpu"; "" if unknown. Borrows the memory.
  GroupReader(cpython::PythonMemory& memory, std::string_view version);

  // `object`: the group's Python object. nullopt: there is no process group behind it.
  std::optional<GroupMemory> read(Addr object);

 private:
  struct ClassOffsets {
    std::string name;
    std::optional<std::uint32_t> number;
  };

  std::vector<Addr> backends_of(Addr group);
  void add_backends(Addr map, std::vector<Addr>& backends);
  // Returns the backend below all wrappers.
  Addr unwrapped(Addr backend);
  std::optional<BackendCounts> counts_of(Addr backend);
  const ClassOffsets& class_offsets(Addr backend);
  std::optional<std::uint32_t> offset_in_table(Addr table) const;

  cpython::PythonMemory& memory_;
  int version_ = 0;                                // 213 is 2.13; 0: unknown
  std::map<std::uint64_t, ClassOffsets> classes_;  // by virtual table
};

// Returns 213 for "2.13.0+cpu"; 0 if that is not a version.
int torch_version_number(std::string_view version);
// Returns "2.13" for 213.
std::string torch_version_text(int number);

// Returns the measured offset of the number in objects of that class; nullopt if it was not
// measured. `backend`: "gloo" or "nccl"; `version`: 213 for 2.13.
std::optional<std::uint32_t> measured_number_offset(std::string_view backend, int version);

}  // namespace oddrank::collectives
