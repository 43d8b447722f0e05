// From the ends that the processes of a node have open to the holders of their waits: plain data.
#pragma once

#include "snapshot/capture.h"
#include "snapshot/wait.h"
#include "waits/ends/node_ends.h"

namespace oddrank::waits {

// A lock file that the thread polls (lock_files.h), of which nobody has said yet who has it.
bool is_polled_lock(const snapshot::Wait& wait);

// Sets holder and addresses of the waits, and what is known of the files' other ends. Pure.
void join_ends(const NodeEnds& node, snapshot::Capture& capture);

}  // namespace oddrank::waits
