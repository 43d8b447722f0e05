// How the process of a core file was started: its arguments and environment, which the kernel put
// on the main stack at exec.
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
  // Whether the arguments and the environment behind them were found. A program that shows a title
  // in `ps` may have written over both.
  bool found = false;
};

// Finds both; what is missing or was overwritten is empty. Reads at most 8 MiB of text.
CoreStart read_core_start(const Target& target, const CoreNotes& notes);

}  // namespace oddrank::attach
