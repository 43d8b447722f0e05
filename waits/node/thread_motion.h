// What a thread did between its samples, where its wait does not tell: it computes, it keeps the
// CPU busy at one place, or it sleeps and wakes by turns to look at something.
#pragma once

#include <string>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// "used 480 ms of CPU in the same functions: it spins, or works at one place"; "used 480 ms of CPU,
// its stack moved: it works"; "was put aside 4000 times in the same functions: it spins, while
// others want the CPU"; "woke 9 times in the same functions: it polls". "" for a thread that
// stood still, that waits for something known, or of which there is one sample only.
std::string motion_words(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

}  // namespace oddrank::waits
