// What a Python thread waits for in the standard library, by the function that the program called:
// asyncio, concurrent.futures, multiprocessing, queue, subprocess, threading.
#pragma once

#include <string_view>

#include "aggregate/frames/frame_model.h"
#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// Returns "waits for a future (concurrent.futures)"; "" if the thread is in none of these. A
// callback that the library runs is not the library's wait.
std::string_view python_wait_words(FrameModel& model, const snapshot::ThreadSample& sample);

}  // namespace oddrank::aggregate
