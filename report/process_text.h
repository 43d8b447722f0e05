// One process for `oddrank node PID`: all its threads, each with one merged stack.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"
#include "report/text_options.h"

namespace oddrank::report {

// Returns all threads, with idle ones of pools as one line for each kind unless options.all_threads
// is set. Ends with a newline.
std::string print_process(const aggregate::JobView& view,
                          const snapshot::ProcessCapture& process,
                          const TextOptions& options);

// Returns one line: the crash of the process, or the place of its main thread: "pid 71 (python3):
// state S, in read() of a pipe, at load (train.py:7)". Ends with a newline.
std::string process_sentence(const aggregate::JobView& view,
                             const snapshot::ProcessCapture& process);

}  // namespace oddrank::report
