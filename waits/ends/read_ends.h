// Reads which ends of pipes and sockets, and which lock files, the processes of a node have open.
#pragma once

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Reads them from /proc for the processes of a capture: links and flags only, nothing is opened or
// stat'ed. Processes that are not of the capture are looked at only where the other end of a pipe
// or socket, or the owner of a lock file, was not found, and for no longer than a moment; only
// those that started one of the capture where the waiting process has the pipe's other end itself.
NodeEnds read_ends(const snapshot::Capture& capture);

}  // namespace oddrank::waits
