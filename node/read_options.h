// What to read of a process, live or from a core file.
//
// Options of capture_node() and capture_cores(): how a node or a set of core files is captured.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

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

struct CaptureOptions {
  // Sample ranks until it is clear whether they move (enough_samples.h). False: sample `samples`
  // times, as the user has chosen.
  bool until_decided = true;
  int samples = 2;  // one cannot distinguish stuck from slow
  std::chrono::milliseconds interval{500};
  std::chrono::milliseconds timeout{20000};  // of each process and of each node
  ReadOptions read;
  bool beside = true;           // dumps, logs, hardware, RAS and NCCL's memory, besides the stacks
  bool ras = true;              // NCCL's RAS service, if `beside`
  std::vector<std::string> fr;  // flight recorder dumps that the user names
  bool inlines = false;         // inlined frames and source lines, from DWARF
};

}  // namespace oddrank::node
