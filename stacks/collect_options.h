// What to read from a process's stacks.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "attach/target.h"
#include "cpython/python_process.h"

namespace oddrank::stacks {

struct CollectOptions {
  bool native = true;
  bool python = true;
  cpython::Locals locals = cpython::Locals::kDeciding;  // of Python frames, within bounds
  cpython::ContentsOptions contents{cpython::kUsualContentsDepth, false};  // of Locals::kAll
  bool tasks = false;  // asyncio tasks, with what they await
  // Returns the text of a local with anything that looks like a secret masked; null: no masking.
  std::string (*mask_text)(std::string_view text) = nullptr;
  // Allows a brief stop of threads whose native stack cannot be read otherwise, if that does no
  // harm (reading.h).
  bool stop = true;
  std::size_t frame_limit = 65536;
  // Called with the threads before they are stopped, to read what a stop changes.
  std::function<void(std::span<const attach::ThreadState>)> before_stop = {};
  // Returns whether a module's frames hold something that is needed: Collected::kept. Null: none
  // do.
  bool (*keeps_words)(std::string_view module_path) = nullptr;
  // Called once at the end if the target's Python could be read: to read further objects.
  std::function<void(const cpython::PythonProcess&)> visit_python = {};
};

}  // namespace oddrank::stacks
