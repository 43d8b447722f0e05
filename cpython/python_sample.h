// One sample of a CPython process, for readers of its objects (locks, for example): the frames of
// its threads as addresses, the pages of memory that were fetched for them, and the code objects
// that they run. Most data read through it is from the same moment, so the objects match the frames
// that lead to them.
//
// Finds and samples the CPython of a target, for readers that have no module map of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

struct SampledThread {
  pid_t target_tid = 0;          // in the target's pid namespace; 0 = unknown
  std::uint64_t pthread = 0;     // Python's identifier of the thread
  std::vector<RawFrame> frames;  // innermost first
};

class PythonSample {
 public:
  // The target that `memory` reads must outlive the sample.
  PythonSample(PythonMemory memory, CodeCache codes, std::vector<SampledThread> threads);

  PythonMemory& memory() { return memory_; }
  const std::vector<SampledThread>& threads() const { return threads_; }
  // Return nullptr if no Python thread has this number.
  const SampledThread* by_tid(pid_t target_tid) const;
  const SampledThread* by_ident(std::uint64_t pthread) const;

  // Returns the code object of a frame; `readable` is false if there is none.
  const CodeObject& code(const RawFrame& frame) const { return codes_.at(frame.code); }
  // Returns "save (train.py:61)"; "" if the code cannot be read.
  std::string place(const RawFrame& frame) const;

 private:
  PythonMemory memory_;
  CodeCache codes_;
  std::vector<SampledThread> threads_;
};

// Returns one sample of all threads. Opens the files of the interpreter anew, which takes
// milliseconds. Errors as PythonProcess::find. `target` must outlive the sample.
Result<PythonSample> open_python(const attach::Target& target);

}  // namespace oddrank::cpython
