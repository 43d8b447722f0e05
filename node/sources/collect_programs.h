// Notes which program each rank runs, so that ranks can be compared: the digest of its script, and
// the commit of the git repository that the script lies in.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds to ProcessCapture::setup of the ranks that run a script with Python: "train.py"
// "sha256 3f2a9c1d7e55", "git commit" "9c1d7e553f2a". Only of files on this node that have not
// changed since the rank began (unchanged_files.h); scripts of at most 1 MiB. Uses a child with a
// deadline. Precondition: one thread (it forks).
void collect_programs(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
