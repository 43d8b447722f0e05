// Takes away from a process all rights that it does not need to read and parse foreign bytes, so
// that an attacker gains nothing from a fault in a parser.
//
// Always: no new rights by exec (no_new_privs), limits on memory and on the length of files, no
// writing into another process's memory or registers, no loading of kernel modules, no mounts. All
// of it holds for the process and its children, for good.
#pragma once

#include <cstddef>

namespace oddrank {

// The rights that a process keeps.
struct Freedom {
  bool sockets = false;   // make sockets of any kind
  bool files = false;     // make, change and remove files
  bool programs = false;  // run other programs; then confine() does nothing
  // Bytes of memory of its own (not of files that it maps).
  std::size_t memory = std::size_t{3} << 29;  // 1.5 GiB
};

// For a process that reads captures or dumps and writes reports: it may change files, and needs as
// much memory as a large job does.
inline constexpr Freedom kReporter{false, true, false, ~std::size_t{0}};

// Returns false under AddressSanitizer, whose shadow memory exceeds every limit.
bool memory_is_limited();

// Best effort: without seccomp filters (kernel, or forbidden), only the other limits apply.
// Precondition: one thread.
void confine(const Freedom& may);

}  // namespace oddrank
