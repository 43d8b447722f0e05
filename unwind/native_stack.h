// The native frames of one thread as unwound: addresses, no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/preserved_value.h"
#include "snapshot/stack.h"

namespace oddrank::unwind {

// How many words of a frame's part of the stack are kept.
inline constexpr std::size_t kMaxKeptWords = 192;

struct NativeFrame {
  std::uint64_t pc = 0;    // absolute; in outer frames the return address
  std::uint64_t cfa = 0;   // canonical frame address; orders native frames relative to others
  std::uint8_t flags = 0;  // snapshot::FrameFlag
  int signal = 0;          // in a signal frame: which signal was delivered; 0 = unknown
  std::vector<attach::PreservedValue> words = {};  // only for the code of keep_words()
};

struct NativeStack {
  std::vector<NativeFrame> frames;  // innermost first
  snapshot::StackEnd end = snapshot::StackEnd::kUnknown;
  // The stack ends here because the next step needs a register that only a stop can provide. Not
  // set if the code has no table: then a stop would not help.
  bool needs_registers = false;
};

}  // namespace oddrank::unwind
