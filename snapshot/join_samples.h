// A later look at a process, added to the earlier ones.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

// Both of the same process and with ids of `tables`. Samples of threads that were there
// before are appended, and say whether locals changed; how long a thread has slept
// goes on over a stop that only an earlier sample caused; wait, call, locals and all that only the
// present matters for are taken from `later`. A thread that ended meanwhile keeps what it had; a
// new one is added. Where `later` was read worse than `earlier` (the process no longer answers),
// the threads stay and the better reading's state counts, with the later one's reason.
void append_samples(const Tables& tables, ProcessCapture& earlier, ProcessCapture later);

}  // namespace oddrank::snapshot
