// Notes on sockets beyond a limit: the report has to say that holders may be unknown because of it.
#pragma once

#include <cstddef>
#include <string>

#include "snapshot/capture.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Notes that the capture has only the first `kept` of what the process `has`: "5000 connections to
// other nodes". `process`: an index into Capture::processes.
void note_cut(snapshot::Capture& capture,
              std::size_t process,
              const std::string& has,
              std::size_t kept);

// Notes what was not read of the node's sockets.
void note_unread_sockets(const NodeEnds& node, snapshot::Capture& capture);

}  // namespace oddrank::waits
