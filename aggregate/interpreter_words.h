// What the Python interpreter does in a thread beside running its program: garbage collection,
// hooks of fork(), its own end. No Python frame says so.
//
// A collection is known from the interpreter's own flag if it has one thread, else from the names
// of its functions, which a stripped interpreter does not have. The others are told by exported
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// Returns some of "collects_garbage", "ends_interpreter", "runs_fork_hooks".
std::vector<std::string_view> interpreter_work(const JobView& view,
                                               const snapshot::ThreadCapture& thread);

// Returns ", collects garbage, ends the interpreter"; "" if it does neither.
std::string interpreter_words(const JobView& view, const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
