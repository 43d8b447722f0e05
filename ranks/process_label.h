// The name of a process without a rank, for people: the title that it gave itself, or the program
// that it runs.
#pragma once

#include <span>
#include <string>

#include "snapshot/process_capture.h"

namespace oddrank::ranks {

// Returns "Rollout.sample" for the title "ray::Rollout.sample"; else the name of the script or
// module that an interpreter runs ("train.py", "api_server"), or of the program. Empty for code
// (-c) and if there are no arguments. `executable`: the path of its image. `name`: the kernel's,
// cut at 15 bytes (/proc/PID/stat).
std::string label_of(std::span<const std::string> arguments,
                     const std::string& executable,
                     std::string_view name);

// Returns the role that the title shows: an engine for "VLLM::EngineCore". kUnknown without a
// title.
snapshot::JobRole role_of_title(std::span<const std::string> arguments);

// Returns whether the process has given itself a title of the form PRODUCT::NAME.
bool has_title(std::span<const std::string> arguments);

}  // namespace oddrank::ranks
