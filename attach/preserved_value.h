// A value that a frame holds while it waits for the function that it has called.
#pragma once

#include <cstdint>

namespace oddrank::attach {

// A register that calls preserve, and that this function has changed; or a word of its part of the
// stack. Among the latter are its caller's registers, and values left over from earlier calls.
struct PreservedValue {
  std::uint64_t value = 0;
  std::uint64_t address = 0;  // on the stack; 0: a register
};

}  // namespace oddrank::attach
