// Finds the holders of waits from the ends that the processes of a node have open. Works on plain
// data.
#pragma once

#include "snapshot/capture.h"
#include "snapshot/wait.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// Returns whether the thread polls a lock file (python/lock_files.h) whose owner is still unknown.
bool is_polled_lock(const snapshot::Wait& wait);

// Sets holder and addresses of the waits, and what is known about the files' other ends. Pure. Call
// once the processes of one node have been read, before join_processes.
void join_ends(const NodeEnds& node, snapshot::Capture& capture);

}  // namespace oddrank::waits
