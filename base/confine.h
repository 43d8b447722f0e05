// Drops all rights of a process that it does not need to read and parse foreign bytes, so that an
// attacker gains nothing from a fault in a parser.
//
// Always: no new rights by exec (no_new_privs), limits on memory and on the length of files, no
// writing into another process's memory or registers, no loading of kernel modules, no mounts. This
// applies to the process and its children, forever.
#pragma once

#include <cstddef>

namespace oddrank {

// The rights that a process keeps.
struct Freedom {
  bool sockets = false;   // make sockets of any kind
  bool files = false;     // make, change and remove files
  bool programs = false;  // run other programs; then confine() does nothing
  // Bytes of its own memory (without mapped files).
  std::size_t memory = std::size_t{3} << 29;  // 1.5 GiB
};

// For a process that reads captures or dumps and writes reports: it may change files, and needs as
// much memory as a large job takes.
inline constexpr Freedom kReporter{false, true, false, ~std::size_t{0}};

// Returns false under AddressSanitizer, whose shadow memory exceeds every limit.
bool memory_is_limited();

// Drops all rights but these, as far as possible: if the kernel lacks or forbids seccomp filters,
// only the other limits apply. Precondition: one thread.
void confine(const Freedom& may);

}  // namespace oddrank
