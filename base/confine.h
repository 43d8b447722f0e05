// Takes away from a process what it does not need to read and parse foreign bytes, so that a fault
// in a parser is worth nothing to the one who wrote them.
//
// Always: no new rights by exec (no_new_privs), limits on memory and on the length of files, no
// writing into another process's memory or registers, no loading of kernel modules, no mounts. All
// of it holds for the process and its children, for good.
#pragma once

#include <cstddef>

namespace oddrank {

// What a process may do besides.
struct Freedom {
  bool sockets = false;   // make sockets of any kind
  bool files = false;     // make, change and remove files
  bool programs = false;  // run other programs; then nothing is taken away at all
  // Bytes of memory of its own (not of files that it maps).
  std::size_t memory = std::size_t{3} << 29;  // 1.5 GiB
};

// For a process that reads captures or dumps and writes reports: it may change files, and needs as
// much memory as a large job does.
inline constexpr Freedom kReporter{false, true, false, ~std::size_t{0}};

// False under AddressSanitizer, whose shadow memory no limit leaves room for.
bool memory_is_limited();

// Best effort: a kernel without seccomp filters, or one that forbids them, leaves the rest.
// Precondition: one thread.
void confine(const Freedom& may);

}  // namespace oddrank
