// Reads which requests for resources are pending in the Ray session of this node's processes, from
// the files of the session (collectives/sources/ray_status.h).
//
// Why files: Ray's GCS and its dashboard know the same, but want a token since Ray 2.60, and a
// client of gRPC; in the memory of the raylet, nothing tells where it lies. The files are there
// with plain `pip install ray`, on a job that hangs, and are only read.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds to Capture::collectives.requests. Asks for nothing if no process runs Ray's functions, if
// these are of several sessions, or if the status is older than a minute; only the head node has
// one. Uses a child with a deadline. Precondition: one thread (it forks).
void collect_requests(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
