// Reads what one process says about itself: its present environment, and its place in the job.
#pragma once

#include <sys/types.h>

#include "ranks/reported_world.h"

namespace oddrank::node {

// Reads the process without stopping it. Never fails: what cannot be read is left out. Takes some
// 10 ms for a PyTorch process. May block if the target blocks: see ranks::AskProcess.
ranks::SelfReport ask_process(pid_t pid);

}  // namespace oddrank::node
