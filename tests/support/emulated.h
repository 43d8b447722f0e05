// Tests that ask the kernel about their own process cannot run under qemu's user emulation: it
// translates system calls, and /proc has the emulator in the place of the program. On an emulated
// machine with a kernel of its own (scripts/vm arm64) they run.
#pragma once

#include <elf.h>

#include <cstring>

#include "base/machine.h"
#include "base/read_file.h"
#include "tests/support/catch.h"

namespace oddrank::test {

// Returns whether a user emulator runs this program. It lies about /proc/self, but not about the
// same folder's other name.
inline bool is_emulated() {
  Elf64_Ehdr header{};
  const auto program = read_file("/proc/thread-self/exe", sizeof header);
  if (!program || program->size() < sizeof header) {
    return false;
  }
  std::memcpy(&header, program->data(), sizeof header);
  return header.e_machine != elf_machine(kOurMachine);
}

}  // namespace oddrank::test

// Skips the test case if there is no kernel of this machine. For use as ODDRANK_SKIP.
#define ODDRANK_NEEDS_KERNEL()                                                                  \
  do {                                                                                          \
    if (oddrank::test::is_emulated()) {                                                         \
      ODDRANK_SKIP("a user emulator runs this program, and /proc shows that one in its place"); \
    }                                                                                           \
  } while (false)
