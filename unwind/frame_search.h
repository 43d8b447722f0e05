// Finds the callers of frames that tables do not tell.
//
// First, frames whose address only the unknown frame pointer tells.
// Of a blocked thread that was not stopped the frame pointer is unknown. Where code keeps one
// (everything on some distributions, libffi everywhere) and no inner function saved it, the unwind
// table says "the frame ends at rbp + 16", and the stack would end. But the return address lies
// somewhere above the stack pointer, and before it in the code stands a call of this very function.
// So: look for it. What is found this way is a heuristic and marked as one; the caller tries the
// candidates in this order and keeps the first that unwinds well.
//
// Second, frames of code that no table describes: made at run time (JIT), or assembler. There the
// call goes to somewhere shortly before the place where the thread is, or nobody knows where.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/target.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

struct FrameCandidate {
  std::uint64_t return_address = 0;
  std::uint64_t frame_end = 0;  // behind the return address on the stack
  // The call before the return address goes to this function. If not (an indirect call, a tail
  // call), only a stack that is complete with it speaks for the candidate.
  bool proven = false;
};

// Candidates above `stack_pointer` for a frame of the function that begins at `function_start`:
// proven ones first, then nearest first; at most 16.
std::vector<FrameCandidate> find_frames(const attach::MemoryMap& maps,
                                        UnwindMemory& memory,
                                        std::uint64_t stack_pointer,
                                        std::uint64_t function_start);

// The same for a frame without any table, whose code is at `pc`. Proven is a call that goes to the
// same mapping, at most 64 KiB before `pc`.
std::vector<FrameCandidate> find_callers(const attach::MemoryMap& maps,
                                         UnwindMemory& memory,
                                         std::uint64_t stack_pointer,
                                         std::uint64_t pc);

}  // namespace oddrank::unwind
