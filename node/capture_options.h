// How a node is captured: what the command line and callers may choose.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace oddrank::node {

struct CaptureOptions {
  int samples = 2;  // one cannot tell stuck from slow
  std::chrono::milliseconds interval{500};
  std::chrono::milliseconds timeout{20000};  // of each process and of each node
  bool native = true;
  bool python = true;
  bool stop = true;     // threads that run, for a moment, to read their stacks
  bool locals = false;  // of every Python thread and kind, not only what the diagnosis needs
  bool tasks = false;   // of asyncio
  bool ras = true;      // ask NCCL's RAS service, where ranks have one
  bool beside = true;   // dumps, logs, hardware and RAS beside the stacks
  std::vector<std::string> fr;  // dumps of flight recorders that the user names
  bool inlines = false;         // inlined frames and source lines, from DWARF
};

}  // namespace oddrank::node
