// Arrays of numbers as text: numpy's ndarray and scalars, PyTorch's Tensor. Their shape and
// type are read, and the elements of small ones on request; nothing of the target is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns "<ndarray (2, 3) float32>" · "<Tensor (8, 128) bfloat16 cuda:0>" · "<Parameter (10,)
// float32 cpu>" · "int64(7)" for a numpy scalar. Returns nullopt if the object is none of these
// (subclasses count), or does not have the layout of numpy up to 2 and PyTorch up to 2. An array of
// at most `max_elements` elements, in the CPU's memory, shows them: "<Tensor (2,) int64 cpu [3,
// 4]>".
std::optional<std::string> print_array(PythonMemory& memory,
                                       Addr object,
                                       std::size_t max_elements = 0);

// Returns "cpu", "cuda:0" for a c10::Device; an index of -1 means the current device.
std::string device_text(std::uint8_t kind, std::int8_t index);

}  // namespace oddrank::cpython
