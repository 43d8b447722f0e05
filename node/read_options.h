// What to read of a process, live or from a core file.
#pragma once

#include <cstddef>

#include "stacks/collect_options.h"

namespace oddrank::node {

// In read_threads(), `mask_text`, `keeps_words` and what `visit_python` does first are the node's.
struct ReadOptions : stacks::CollectOptions {
  // False: the process's files did not answer, and only what is in memory is read (silent_files.h).
  bool files = true;
  // How many of the newest collectives of each group are kept from recorders in memory, and four
  // times as many transfers; 0: all. Captures of thousands of ranks stay small.
  std::size_t newest_calls = 64;
};

}  // namespace oddrank::node
