// What a command requests from every node, however its agents are started.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "cli/terminal/progress_line.h"
#include "reach/wire/answers.h"

namespace oddrank::cli {

// Returns the options for agents that run this binary with the arguments `command`, then those for
// `capture`. Ctrl-C ends the gathering (interrupt.h). Borrows `progress`, which must outlive the
// gathering.
Result<reach::AgentOptions> agent_options(std::vector<std::string> command,
                                          const node::CaptureOptions& capture,
                                          ProgressLine& progress);

}  // namespace oddrank::cli
