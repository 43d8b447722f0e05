// What of a process's stacks is wanted.
#pragma once

#include <cstddef>
#include <functional>

namespace oddrank::stacks {

namespace cpython {
class PythonProcess;
}

struct CollectOptions {
  bool native = true;
  bool python = true;
  bool locals = true;  // scalar locals of Python frames, within bounds
  // Threads whose native stack cannot be read otherwise may be stopped for a moment, where that
  // does them no harm (stop_choice.h).
  bool stop = true;
  std::size_t frame_limit = 4096;
  // Called once at the end if the target is a Python that could be read: for other objects of it.
  std::function<void(const cpython::PythonProcess&)> visit_python = {};
};

}  // namespace oddrank::stacks
