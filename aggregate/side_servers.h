// Threads that serve other processes beside the thread that speaks for their rank: a server that
// listens, and one thread for each connection.
//
// If a rank waits for an answer of such a process, a thread owes it that is not the one that speaks
// for the process; what the latter waits for is then nothing to the former. Which thread has the
// connection is not read.
#pragma once

#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns "8400" of "10.0.0.1:8400"; "" of anything else.
std::string_view port_of(std::string_view address);

// Returns whether a thread of `server` other than `speaker` may be the one to answer: it listens at
// the port of the waiter's connection, or waits at another connection there. The ends of local
// sockets have no address: any Python thread counts that waits at such a socket.
bool answers_beside(const JobView& view,
                    const snapshot::Wait& waiter,
                    const snapshot::ProcessCapture& server,
                    const snapshot::ThreadCapture* speaker);

}  // namespace oddrank::aggregate
