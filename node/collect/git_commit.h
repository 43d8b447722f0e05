// Finds the commit that a program's folder has checked out, from the files of its git repository
// (gitrepository-layout(5)), without running git. Not for repositories that keep their refs in
// tables (reftable).
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace oddrank::node {

// Reads a small file by its absolute path; kNotFound: there is none.
using ReadSmall = std::function<Result<std::string>(const std::string& path)>;

// Returns "3f2a9c1d7e55" (12 digits) for the repository of `folder` (absolute) or of the nearest
// folder above. Empty if there is none, if a file that might matter could not be read, or if its
// contents make no sense.
std::string git_commit(const ReadSmall& read, const std::string& folder);

}  // namespace oddrank::node
