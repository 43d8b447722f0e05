// What to read of a process, live or from a core file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "attach/target.h"
#include "cpython/python_process.h"

namespace oddrank::node {

struct ReadOptions {
  bool native = true;
  bool python = true;
  bool stop = true;  // briefly stop running threads to read their stacks
  // False: the process's files did not answer, and only what is in memory is read (silent_files.h).
  bool files = true;
  bool locals = false;  // all kinds, of every Python thread, not only what the diagnosis needs
  cpython::ContentsOptions contents{cpython::kUsualContentsDepth, false};  // of these
  bool tasks = false;                                                      // asyncio tasks
  std::size_t newest_calls = 64;  // of a core's recorders, as in CaptureOptions
  // Called with the process's Python, after its groups were read; may be empty.
  std::function<void(const cpython::PythonProcess&)> visit_python;
  // Called before threads are stopped, with these; may be empty.
  std::function<void(std::span<const attach::ThreadState>)> before_stop;
};

}  // namespace oddrank::node
