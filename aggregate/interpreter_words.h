// What the Python interpreter does in a thread besides running the program: garbage collection,
// hooks of fork(), waits for imports by another thread, its own end.
//
// A collection is known from the interpreter's own flag if the interpreter has one thread, else
// from the names of its functions, which a stripped interpreter lacks. The others are known by
// exported functions.
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

// Returns the generation that it collects (0, 1, 2); -1 if none or unknown.
std::int8_t collected_generation(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns ", collects garbage (generation 2), ends the interpreter"; "" if it does none of these.
std::string interpreter_words(const JobView& view, const snapshot::ThreadCapture& thread);

}  // namespace oddrank::aggregate
