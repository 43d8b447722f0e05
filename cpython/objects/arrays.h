// Arrays of numbers as text: numpy's ndarray and scalars, PyTorch's Tensor. Only their shape and
// type are read, not their contents; nothing of the target is executed.
#pragma once

#include <optional>
#include <string>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns "<ndarray (2, 3) float32>" · "<Tensor (8, 128) bfloat16 cuda:0>" · "<Parameter (10,)
// float32 cpu>" · "int64(7)" for a numpy scalar. Returns nullopt if the object is none of these
// (subclasses count), or does not have the layout of numpy up to 2 and PyTorch up to 2.
std::optional<std::string> print_array(PythonMemory& memory, Addr object);

}  // namespace oddrank::cpython
