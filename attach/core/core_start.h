// Reads how the process of a core file was started: its arguments and environment, which the kernel
// put on the main stack at exec.
#pragma once

#include <string>
#include <vector>

#include "attach/core/core_notes.h"
#include "attach/proc_environ.h"
#include "attach/target.h"

namespace oddrank::attach {

struct CoreStart {
  std::vector<std::string> arguments;
  Environment environment;  // the kept variables only (proc_environ.h)
  // The arguments and the environment after them were found. A program that sets its title in `ps`
  // may have overwritten both.
  bool found = false;
};

// Finds both; a missing or overwritten part is empty. Reads at most 8 MiB of text.
CoreStart read_core_start(const Target& target, const CoreNotes& notes);

}  // namespace oddrank::attach
