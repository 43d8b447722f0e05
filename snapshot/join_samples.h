// A later look at a process, added to the earlier ones.
#pragma once

#include "snapshot/process_capture.h"

namespace oddrank::snapshot {

// Both of the same process and with ids of the same tables. Samples of threads that were there
// before are appended; wait, call, locals and all that only the present matters for are taken from
// `later`. A thread that ended meanwhile keeps what it had; a new one is added. Where `later` was
// read worse than `earlier` (the process no longer answers), the threads stay and the better
// reading's state counts, with the later one's reason.
void append_samples(ProcessCapture& earlier, ProcessCapture later);

}  // namespace oddrank::snapshot
