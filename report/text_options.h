// Options of text reports.
#pragma once

namespace oddrank::report {

struct TextOptions {
  bool color = false;
  int width = 80;            // columns
  bool all_threads = false;  // every thread of every rank, after the first screen
  bool full_stacks = false;  // whole stacks, with the frames that are otherwise left out
  bool locals = false;       // of Python frames, in the stacks of processes
};

}  // namespace oddrank::report
