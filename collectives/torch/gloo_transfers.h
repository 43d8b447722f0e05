// The other side of a thread's send or receive in gloo, from gloo's own objects: once the request
// is made, neither torch's Work nor any frame has it. Reads while the process is open; find_calls.h
// joins it to the name of the call once frames have names.
//
//   futex that the thread sleeps in   a condition variable inside of
//   -> gloo::transport::tcp::UnboundBuffer   points to its
//   -> gloo::transport::tcp::Context         rank and size; a std::vector of a Pair for each member
//   -> gloo::transport::tcp::Pair            holds the buffers that it is still to send or to fill
//
// The pair that holds the buffer belongs to the member that has not sent, or has not received, yet:
// its index in the vector is that member's rank within the group. The buffer is in a table by
// slots, which are the tags of sends and receives. There is no result if two pairs hold it, or none
// (a receive from any rank).
//
// Sources: gloo/transport/tcp/{unbound_buffer,context,pair}.h. Objects are recognised by their
// classes and the containers in them by their shapes; measured with torch 2.13.
#pragma once

#include <vector>

#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Sets the other side in ThreadCapture::call of each thread that waits for a transfer of gloo, as a
// global rank; several, if several groups of this process have that size and give it that rank. The
// call's kind is not known here. `threads`: as they were when their stacks were read. Needs
// process.groups.
void collect_gloo_transfers(const attach::Target& target,
                            const std::vector<attach::ThreadState>& threads,
                            snapshot::Tables& tables,
                            snapshot::ProcessCapture& process);

}  // namespace oddrank::collectives
