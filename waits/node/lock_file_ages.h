// How old the lock files are that threads poll. A file that was made before the rank began is one
// that a former job has left behind.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::waits {

// Adds "made 3 h ago, before this process began" to the notes of such waits (lock_files.h); does
// nothing if there are none. The files are stat'ed as their processes see them, in a child that has
// `patience` (base/isolated.h: the caller has one thread only), and never on a file system for
// which somebody else must answer (mounts.h): then the note says which that is.
void date_lock_files(snapshot::Capture& capture,
                     std::chrono::milliseconds patience = std::chrono::milliseconds{500});

}  // namespace oddrank::waits
