// Joins the captures that the agents of several nodes sent into one.
#pragma once

#include "reach/wire/answers.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Returns the joined capture. The answers are foreign bytes, so this confines the process for good
// (base/confine.h): it cannot start programs afterwards. Precondition: one thread. Nodes without a
// readable answer are in the capture with the reason.
snapshot::Capture join_answers(snapshot::JobInfo job, const reach::GatherResult& gathered);

}  // namespace oddrank::cli
