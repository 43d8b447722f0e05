// Reads which requests for resources are pending in the Ray session of this node's processes, from
// the files of the session (collectives/around/ray_status.h).
//
// Why files: Ray's GCS and its dashboard know the same, but need a client of gRPC and, since Ray
// 2.60, a token; in the raylet's memory, nothing shows where it is. The files exist with plain `pip
// install ray`, also in a job that hangs, and are only read.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds to Capture::collectives.requests. Adds nothing if no process runs Ray's functions, if the
// processes belong to several sessions, or if the status is older than a minute; only the head node
// has one. Uses a child with a deadline. Precondition: one thread (it forks).
void collect_requests(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
