// Objects of builtin types and of PyTorch that are not containers, as text: None, complex numbers,
// ranges, functions, classes, modules, torch.dtype and torch.device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns "None" · "(1+2j)" · "range(0, 10)" · "slice(0, 4, None)" · "<function Trainer.step>" ·
// "<class Trainer>" · "<module torch>" · "torch.float32" · "device('cuda:0')". Returns "" if the
// object is none of these, or cannot be read. `flags`, `type`: flags and name of its type.
std::string print_small(PythonMemory& memory,
                        Addr object,
                        std::uint64_t flags,
                        std::string_view type);

}  // namespace oddrank::cpython
