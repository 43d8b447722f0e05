// Joins the captures that the agents of several nodes sent into one.
#pragma once

#include "reach/wire/answers.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Returns the joined capture. What the nodes sent is foreign, so this confines the process for good
// (base/confine.h): nothing can be started afterwards. Precondition: one thread. Nodes that did not
// answer, or whose answer cannot be read, are in the capture with the reason.
snapshot::Capture join_answers(snapshot::JobInfo job, const reach::GatherResult& gathered);

}  // namespace oddrank::cli
