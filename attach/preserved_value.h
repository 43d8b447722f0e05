// A value that a frame holds while the function that it has called runs.
#pragma once

#include <cstdint>

namespace oddrank::attach {

// A register that calls preserve and that this function has changed; or a word of its part of the
// stack, which may also be a saved register of its caller, or left over from an earlier call.
struct PreservedValue {
  std::uint64_t value = 0;
  std::uint64_t address = 0;  // on the stack; 0: a register
};

}  // namespace oddrank::attach
