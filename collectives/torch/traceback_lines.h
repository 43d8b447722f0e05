// The line of the program that made a recorded call: PyTorch keeps its Python frames as pairs of a
// code object and an instruction, from which we compute the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/torch/cxx_object.h"
#include "cpython/code_object.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

class TracebackLines {
 public:
  // `python`: null if the process has no Python that can be read; then there are no places.
  explicit TracebackLines(cpython::PythonMemory* python) : python_(python) {}

  // Fetches the memory that place() will need for `count` tracebacks, in few system calls.
  void announce(cpython::RemoteReader& reader,
                std::size_t count,
                const std::function<Addr(std::size_t)>& traceback);

  // Returns the program's own innermost frame, "train (train.py:88)"; "" if there is none.
  // `traceback`: a torch::CapturedTraceback.
  std::string place(cpython::RemoteReader& reader, Addr traceback);

 private:
  struct TracebackFrame {
    std::uint64_t code = 0;
    std::int32_t instruction = 0;  // in bytes from the start of the code
    std::int32_t padding = 0;
  };

  std::vector<TracebackFrame> frames_of(cpython::RemoteReader& reader, Addr traceback);

  cpython::PythonMemory* python_;
  cpython::CodeCache codes_;
  std::map<std::uint64_t, bool> classes_;  // by virtual table: whether it is a traceback
};

}  // namespace oddrank::collectives
