// The Python frames of threads, as addresses: the chain of calls, and the frames that began a
// native evaluation loop.
//
// Up to 3.10 each frame is a heap object with its own native evaluation (except frames of code
// compiled by Nuitka, which no loop evaluates). From 3.11 on a call from Python to Python stays in
// the loop; frames lie in chunks and are linked through `previous`. From 3.12 on a shim frame marks
// each place where a loop was entered (from 3.15 on, an outermost shim marks no loop). Shims are
// left out here. But a loop without a Python frame (it was popped, and the objects it owned are
// being destroyed) gets a placeholder, so that the counts match when Python frames are merged with
// native ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxFrames = 65536;  // of one thread

struct RawFrame {
  Addr address{};                 // null: placeholder for a loop without a frame
  Addr previous{};                // the next frame outwards: a frame or a shim
  Addr code{};                    // the code object; not checked
  Addr object{};                  // its PyFrameObject; null if it has none. Up to 3.10: itself
  std::uint64_t instruction = 0;  // in the layout's InstructionFormat
  std::uint32_t code_copy = 0;    // free-threaded: the copy of the code that contains `instruction`
  bool entry = false;
};

struct FrameChain {
  std::vector<RawFrame> frames;  // innermost first
  bool cut = false;              // longer than the limit, circular, or not readable to the end
  bool too_long = false;         // cut because it is longer than the limit
  // It ends where the thread's stack ends. If false, and it is not cut, the thread ran meanwhile.
  bool whole = false;
  Addr innermost_shim{};  // 3.12+: an address on the native stack; null if there is none
};

// Returns one chain for each newest frame (null: an empty chain). Follows all chains in parallel,
// so that one system call serves all threads.
std::vector<FrameChain> read_chains(PythonMemory& memory,
                                    std::span<const Addr> newest,
                                    std::size_t limit = kMaxFrames);

// Returns the frame of a generator, coroutine or async generator; an empty one if it has ended or
// cannot be read.
RawFrame frame_of_generator(PythonMemory& memory, Addr generator);

}  // namespace oddrank::cpython
