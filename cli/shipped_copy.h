// An agent that was copied to a node for a single run deletes its own file.
#pragma once

#include <string>

namespace oddrank::cli {

// Deletes `path` if it is the running program, never any other file. Does nothing if it is empty.
void delete_shipped_copy(const std::string& path);

}  // namespace oddrank::cli
