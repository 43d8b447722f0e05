// What the Python interpreter does in a thread beside running its program: garbage collection,
// hooks of fork(), imports that another thread does, its own end.
//
// A collection is known from the interpreter's own flag if it has one thread, else from the names
// of its functions, which a stripped interpreter does not have. The others are told by exported
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// Returns some of "collects_garbage", "ends_interpreter", "runs_fork_hooks", "waits_for_import".
std::vector<std::string_view> interpreter_work(const JobView& view,
                                               const snapshot::ThreadCapture& thread);

// Returns the generation that it collects (0, 1, 2); -1 if it collects none, or an unknown one.
std::int8_t collected_generation(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns ", collects garbage (generation 2), ends the interpreter"; "" if it does none of it.
std::string interpreter_words(const JobView& view, const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
