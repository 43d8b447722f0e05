// Whose number is written in the lock files that threads poll. Programs that make such a file often
// write their pid into it, into a file of a directory that is the lock, or as what a symbolic link
// points to.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::waits {

// Makes the process whose number is in the file the holder of each such wait (WaitHow::kLockFile)
// that has none. The process must be alive, and older than the file. Looks at the files as the
// waiting processes see them, in a child that has `patience` (base/isolated.h: the caller has one
// thread only); never on a remote file system (mounts.h), where the number may be another node's.
void name_lock_file_owners(snapshot::Capture& capture,
                           std::chrono::milliseconds patience = std::chrono::milliseconds{500});

// Returns the number in the text of a lock file, which must be all of it but for the name of this
// host (filelock writes both); 0 if there is none.
pid_t number_in_lock_file(std::string_view text, std::string_view host);

}  // namespace oddrank::waits
