// Tells whether the frames that were read of a running thread were its stack at one moment.
//
// A chain of frames is read link by link, and a thread that runs calls and returns meanwhile. So
// its frames are looked at again, several times in one system call, by turns from the inside out
// and from the outside in. If all looks agree with the chain, every frame was where it is told at
// the moment between two looks. Honest limit: a thread that returns and comes back to all the same
// calls between any two looks (a microsecond or so for short stacks) is not noticed.
#pragma once

#include <span>

#include "attach/target.h"
#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {

// `frames`: the chain of `row`, innermost first. Of long ones the innermost are looked at: if a
// frame has changed, those inside of it have, too. The instruction of the innermost one may differ,
// since it always moves. False also if memory cannot be read, or a call has returned (up to 3.10
// each frame tells).
bool stands_still(const attach::Target& target,
                  const Layout& layout,
                  const ThreadStateRow& row,
                  std::span<const RawFrame> frames);

}  // namespace oddrank::cpython
