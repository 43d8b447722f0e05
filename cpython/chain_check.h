// Checks whether the frames that were read of a running thread were its stack at one moment.
//
// A chain of frames is read link by link, while a running thread calls and returns. So its frames
// are read again, several times in one system call, by turns from the inside out and from the
// outside in. If all reads agree with the chain, every frame was at its place between two reads.
// Honest limit: we do not notice if a thread returns and comes back to all the same calls between
// any two reads (a microsecond or so for short stacks).
#pragma once

#include <span>

#include "attach/target.h"
#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {

// `frames`: the chain of `row`, innermost first. For long chains it reads only the innermost
// frames: if a frame has changed, so have those inside it. The instruction of the innermost one may
// differ, since it always moves. Also returns false if memory cannot be read, or a call has
// returned (up to 3.10 each frame shows that).
bool stands_still(const attach::Target& target,
                  const Layout& layout,
                  const ThreadStateRow& row,
                  std::span<const RawFrame> frames);

}  // namespace oddrank::cpython
