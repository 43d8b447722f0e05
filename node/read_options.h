// What to read of a process, live or from a core file.
#pragma once

namespace oddrank::node {

struct ReadOptions {
  bool native = true;
  bool python = true;
  bool stop = true;     // briefly stop running threads to read their stacks
  bool locals = false;  // all kinds, of every Python thread, not only what the diagnosis needs
  bool tasks = false;   // asyncio tasks
};

}  // namespace oddrank::node
