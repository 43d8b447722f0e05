// What to read of a process, live or from a core file.
#pragma once

#include <cstddef>

#include "stacks/collect_options.h"

namespace oddrank::node {

// read_threads() itself sets `mask_text` and `keeps_words`, and acts first in `visit_python`.
struct ReadOptions : stacks::CollectOptions {
  // False: the process's files did not answer, and only what is in memory is read (silent_files.h).
  bool files = true;
  // How many of the newest collectives of each group are kept from recorders in memory, with four
  // times as many transfers; 0: all. So captures of thousands of ranks stay small.
  std::size_t newest_calls = 64;
};

}  // namespace oddrank::node
