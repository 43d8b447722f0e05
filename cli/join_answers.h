// Joins the captures that the agents of several nodes sent into one.
#pragma once

#include "reach/wire/answers.h"
#include "snapshot/capture.h"

namespace oddrank::cli {

// Confines this process (base/confine.h), which starts nothing more after the gathering: what the
// nodes sent is foreign. Precondition: one thread.
// Nodes that did not answer, or whose answer cannot be read, are in the capture with the reason.
snapshot::Capture join_answers(snapshot::JobInfo job, const reach::GatherResult& gathered);

}  // namespace oddrank::cli
