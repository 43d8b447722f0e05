// Asks one process what it says of itself: its environment as it is now, and its place in the job.
#pragma once

#include <sys/types.h>

#include "ranks/reported_world.h"

namespace oddrank::node {

// Reads the process without stopping it. Never fails: what cannot be read is not said. Takes some
// 10 ms for a PyTorch process. May block if the target blocks: see ranks::AskProcess.
ranks::SelfReport ask_process(pid_t pid);

}  // namespace oddrank::node
