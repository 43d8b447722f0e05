// Notes which program each rank runs, so that ranks can be compared: the digest of its script, and
// the commit of the git repository that the script lies in.
#pragma once

#include <chrono>

#include "base/isolated.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Begins to read the scripts of the ranks and their repositories, in a child. It reads only files
// on this node that have not changed since the rank began (unchanged_files.h), and scripts of at
// most 1 MiB. Precondition: one thread (it forks).
PendingTask read_programs_of(const snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Waits for that child, and adds what it found to ProcessCapture::setup of the ranks that run a
// script with Python: "train.py" "sha256 3f2a9c1d7e55", "git commit" "9c1d7e553f2a".
void add_programs(snapshot::Capture& capture, PendingTask programs);

}  // namespace oddrank::node
