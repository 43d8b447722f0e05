// Arrays of numbers as text: numpy's ndarray and scalars, PyTorch's Tensor. What they hold is not
// read, only their shape and type; nothing of the target is executed.
#pragma once

#include <optional>
#include <string>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

// "<ndarray (2, 3) float32>" · "<Tensor (8, 128) bfloat16 cuda:0>" · "<Parameter (10,) float32
// cpu>" · "int64(7)" of a numpy scalar. nullopt: none of these (subclasses count), or one that does
// not look as these do up to numpy 2 and PyTorch 2.
std::optional<std::string> print_array(RemoteReader& reader, const Layout& layout, Addr object);

}  // namespace oddrank::cpython
