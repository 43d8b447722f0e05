// Checks whether the frames of a running thread, as read, were its stack at one moment.
//
// A chain of frames is read link by link, while a running thread calls and returns. So its frames
// are read again, several times in one system call, alternately from the inside out and from the
// outside in. If all reads agree with the chain, every frame was at its place between two reads.
// Limit: it is not noticed if a thread returns and makes all the same calls again between any two
// reads (a microsecond or so for short stacks).
#pragma once

#include <span>

#include "attach/target.h"
#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {

// Returns whether the chain `frames` of `row`, innermost first, was whole at one moment. Reads only
// the innermost frames of long chains: if a frame has changed, so have those inside it. The
// innermost frame's instruction may differ, since it always moves. False also if memory cannot be
// read, or a call has returned (up to 3.10 each frame shows that).
bool stands_still(const attach::Target& target,
                  const Layout& layout,
                  const ThreadStateRow& row,
                  std::span<const RawFrame> frames);

}  // namespace oddrank::cpython
