// What this build can read, for `oddrank --version`: taken from the tables that read it.
#pragma once

#include <string>

namespace oddrank::node {

// Returns "CPython 3.8 to 3.15", "flight recorders of PyTorch 2.4 to 2.15", ...: one a line.
std::string supported_versions();

}  // namespace oddrank::node
