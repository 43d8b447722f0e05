// Describes what a thread did between its samples, if its wait does not show it: it computes, it
// keeps the CPU busy at one place, or it repeatedly sleeps and wakes to check something.
#pragma once

#include <string>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Returns "used 480 ms of CPU in the same functions: it spins, or works at one place"; "used 480 ms
// of CPU, its stack moved: it works"; "was put aside 4000 times in the same functions: it spins,
// while others want the CPU"; "woke 9 times in the same functions: it polls". "" for a thread that
// did not move, that waits for something known, or that has only one sample.
std::string motion_words(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

}  // namespace oddrank::waits
