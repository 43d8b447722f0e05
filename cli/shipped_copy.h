// An agent that was sent to a node for this one run removes its own file.
#pragma once

#include <string>

namespace oddrank::cli {

// Deletes `path` if it is what runs here, and nothing else; does nothing for an empty path.
void delete_shipped_copy(const std::string& path);

}  // namespace oddrank::cli
