// Objects on the value stack of a Python frame: what a call or a `with` in progress has put there.
//
// A frame that executes does not say how much of its stack is in use, and slots above keep old
// pointers: an object found there says nothing. But where the interpreter would have to unwind to
// is written down: in the code's exception table from 3.11 on, in the frame's block stack before.
// All slots below that depth are in use. The body of a `with` is such a range, and begins only when
// __enter__ has returned; so the bound __exit__ of a `with` found below that depth belongs to a
// `with` that has been entered and not left.
#pragma once

#include <cstddef>
#include <vector>

#include "stacks/cpython/frame_chain.h"
#include "stacks/cpython/layout.h"
#include "stacks/cpython/remote_reader.h"

namespace oddrank::waits {

// The objects in slots that are in use for certain, outermost first; bounded. Empty: none, or not
// known (generated code without a table, a free-threaded copy of the code).
std::vector<attach::Addr> live_values(stacks::cpython::RemoteReader& reader,
                                      const stacks::cpython::Layout& layout,
                                      const stacks::cpython::RawFrame& frame);

// What any slot of the frame points to, locals first: in use or not. To be believed only where the
// object proves itself.
std::vector<attach::Addr> all_slots(stacks::cpython::RemoteReader& reader,
                                    const stacks::cpython::Layout& layout,
                                    const stacks::cpython::RawFrame& frame);

}  // namespace oddrank::waits
