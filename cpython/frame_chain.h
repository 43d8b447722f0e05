// The Python frames of threads, as addresses: who called whom, and which frames began a native
// evaluation loop.
//
// Up to 3.10 each frame is a heap object with its own native evaluation. From 3.11 on a call from
// Python to Python stays in the loop; frames lie in chunks and chain through `previous`. From 3.12
// on a shim frame marks each place where a loop was entered (from 3.15 on there is one more below
// all others, which marks no loop). Shims are left out here, unless a loop has no Python frame at
// all (a frame was popped and what it owned is being destroyed): then a placeholder keeps the
// counts right for the merge with native frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kFrameLimit = 4096;  // a thread

struct RawFrame {
  Addr address{};                 // null: placeholder of a loop without a frame
  Addr code{};                    // object; not checked
  std::uint64_t instruction = 0;  // as the layout's InstructionFormat says
  std::uint32_t code_copy = 0;    // free-threaded: which of the code's copies `instruction` is in
  bool entry = false;
};

struct FrameChain {
  std::vector<RawFrame> frames;  // innermost first
  bool cut = false;              // longer than the limit, circular or not readable to the end
  bool too_long = false;         // cut since it is longer than the limit
  Addr innermost_shim{};         // 3.12+: lies on the native stack; null if there is none
};

// One chain for each newest frame (null: an empty chain). All chains are followed side by side, so
// that one system call serves all threads.
std::vector<FrameChain> read_chains(RemoteReader& reader,
                                    const Layout& layout,
                                    std::span<const Addr> newest,
                                    std::size_t limit = kFrameLimit);

}  // namespace oddrank::cpython
