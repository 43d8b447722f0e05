// Notes the age of lock files that threads poll. A file older than the rank was left behind by an
// earlier job.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::waits {

// Adds "made 3 h ago, before this process began" to the notes of such waits (python/lock_files.h).
// Stats the files as their processes see them, in a child that has `patience` (base/isolated.h: the
// caller has one thread only). Never stats a file on a remote file system (mounts.h): the note then
// says which one it is.
void date_lock_files(snapshot::Capture& capture,
                     std::chrono::milliseconds patience = std::chrono::milliseconds{500});

}  // namespace oddrank::waits
