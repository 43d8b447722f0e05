// One process for `oddrank node PID`: all its threads, each with one merged stack.
#pragma once

#include <string>

#include "report/text_options.h"
#include "snapshot/capture.h"

namespace oddrank::report {

// Folds idle threads of pools into one line for each kind, unless options.all_threads is set. Ends
// with a newline.
std::string print_process(const snapshot::Capture& capture,
                          const snapshot::ProcessCapture& process,
                          const TextOptions& options);

}  // namespace oddrank::report
