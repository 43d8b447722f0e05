// The output of `oddrank --version`.
#pragma once

#include <string>

namespace oddrank::cli {

// Returns version, commit and build id of this program, and what it can read. The first line is
// "oddrank 0.1.0".
std::string version_text();

}  // namespace oddrank::cli
