// What is read of a process, be it alive or a core file.
#pragma once

namespace oddrank::node {

struct ReadOptions {
  bool native = true;
  bool python = true;
  bool stop = true;     // threads that run, for a moment, to read their stacks
  bool locals = false;  // of every Python thread and kind, not only what the diagnosis needs
  bool tasks = false;   // of asyncio
};

}  // namespace oddrank::node
