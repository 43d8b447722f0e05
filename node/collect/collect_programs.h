// Notes which program each rank runs, so that ranks can be compared: the digest of its script, and
// the commit of the git repository that the script lies in.
//
// Finds the commit that a program's folder has checked out, from the files of its git repository
// (gitrepository-layout(5)), without running git. Not for repositories that keep their refs in
// tables (reftable).
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/isolated.h"
#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Begins to read the scripts of the ranks and their repositories, in a child. It reads only files
// on this node that have not changed since the rank began (unchanged_files.h), and scripts of at
// most 1 MiB. Precondition: one thread (it forks).
PendingTask read_programs_of(const snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Waits for that child, and adds what it found to ProcessCapture::setup of the ranks that run a
// script with Python: "train.py" "sha256 3f2a9c1d7e55", "git commit" "9c1d7e553f2a".
void add_programs(snapshot::Capture& capture, PendingTask programs);

// Reads a small file by its absolute path; kNotFound if there is no such file.
using ReadSmall = std::function<Result<std::string>(const std::string& path)>;

// Returns "3f2a9c1d7e55" (12 digits) for the repository of `folder` (absolute) or of the nearest
// folder above. Empty if there is none, if a file that might matter could not be read, or if its
// contents make no sense.
std::string git_commit(const ReadSmall& read, const std::string& folder);

}  // namespace oddrank::node
