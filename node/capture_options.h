// Options of capture_node() and capture_cores(): how a node or a set of core files is captured.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "node/read_options.h"

namespace oddrank::node {

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
