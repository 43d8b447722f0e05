// What a command asks of every node, whichever way its agents are started.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "slurm/answers.h"

namespace oddrank::cli {

// This binary with the arguments `command`, then those that `capture` stands for; Ctrl-C ends the
// asking (interrupt.h). Borrows `progress`, which must outlive the asking.
Result<slurm::AgentOptions> agent_options(std::vector<std::string> command,
                                          const node::CaptureOptions& capture,
                                          ProgressLine& progress);

}  // namespace oddrank::cli
