// Adds a later sample of a process to the earlier ones.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

// Appends `later` to `earlier`; both are of the same process and use ids of `tables`. Samples of
// known threads are appended, and record whether locals changed. The time that a thread has slept
// continues across a stop that only an earlier sample caused. Wait, call, locals and other current
// facts are taken from `later`. A thread that exited meanwhile is left out, since its wait has
// ended with it; a new one is added. If `later` was read worse than `earlier` (the process no
// longer answers), the threads and the better `read` stay, with the later reason.
void append_samples(const Tables& tables, ProcessCapture& earlier, ProcessCapture later);

}  // namespace oddrank::snapshot
