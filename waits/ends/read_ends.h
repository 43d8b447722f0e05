// Reads which ends of pipes and sockets, and which lock files, the processes of a node have open.
#pragma once

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Reads the ends from /proc for the processes of a capture: links and flags only, nothing is opened
// or stat'ed. If the other end of a pipe or of any connection, or the owner of a lock file, is not
// found, reads the other processes of the node as well, for at most 300 ms. If the waiting process
// has the pipe's other end itself, reads only the parents of the capture's processes.
NodeEnds read_ends(const snapshot::Capture& capture);

}  // namespace oddrank::waits
