// One process for `oddrank node PID`: all its threads, with one merged stack each.
#pragma once

#include <string>

#include "report/text_options.h"
#include "snapshot/capture.h"

namespace oddrank::report {

// Idle threads of pools are folded into one line each kind, unless options.all_threads. Ends with a
// newline.
std::string print_process(const snapshot::Capture& capture,
                          const snapshot::ProcessCapture& process,
                          const TextOptions& options);

}  // namespace oddrank::report
