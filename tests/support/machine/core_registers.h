// What in a made-up core file depends on the machine.
#pragma once

#include <sys/procfs.h>

#include <cstdint>
#include <string>

#include "tests/support/core_sample.h"

namespace oddrank::test {

// Returns the machine of the ELF header.
std::uint16_t sample_machine();

// Sets the registers of NT_PRSTATUS. Arguments of the system call are 7 (the first) and 10 (the
// fourth).
void fill_registers(const SampleThread& thread, elf_prstatus& status);

// Returns the result of its system call that the registers show.
std::int64_t shown_result(const SampleThread& thread);

// Returns the notes that the machine's kernel adds for each thread.
std::string machine_note(const SampleThread& thread);

}  // namespace oddrank::test
