// Better names for frames that launch a kernel of Triton or call an operator of PyTorch. Their
// function is the same for all kernels or operators; the name is in the object that has this
// method.
//
// Seen with Triton 3.9, and PyTorch 2.13.
#pragma once

#include <string>

#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns "add_kernel[grid]", "torch.ops.mylib.add"; "" for all other frames, and if the name
// cannot be read. `code`: the frame's.
std::string known_call(PythonMemory& memory, const CodeObject& code, const RawFrame& frame);

}  // namespace oddrank::cpython
