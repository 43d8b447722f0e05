// Finds the process whose pid is written in a lock file that threads poll, and the file's age: one
// that is older than the rank was left behind by an earlier job. Programs that create a lock often
// write their pid into the file, into a file within the lock directory, or as the target of a
// symbolic link.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::waits {

// For each wait on a lock file (WaitHow::kLockFile) without a holder, makes the process whose pid
// is in the file the holder. The process must be alive, and older than the file; if no process of
// the node fits, the holder is gone. Then notes the file's age: "made 3 h ago, before this process
// began". Reads the files through the waiting processes' own view, in a child that has `patience`
// (base/isolated.h: the caller must have one thread only). Never examines a file on a remote file
// system (mounts.h), where the pid may be another node's: the note then says which one it is.
void describe_lock_files(snapshot::Capture& capture,
                         std::chrono::milliseconds patience = std::chrono::milliseconds{1000});

// Returns the pid in the text of a lock file; 0 if there is none. The text may hold nothing else
// but the name of this host and one more word (filelock writes the pid and the host, from 4.0 on
// also the process's start).
pid_t number_in_lock_file(std::string_view text, std::string_view host);

}  // namespace oddrank::waits
