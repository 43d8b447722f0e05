// Man pages, in the macros of man(7).
#pragma once

#include <string>

#include "cli/manual/command_tree.h"

namespace oddrank::cli {

// Returns the page of the program, which lists its commands: oddrank(1).
std::string man_page(const CommandTree& tree);
// Returns the page of one command: oddrank-node(1).
std::string man_page(const CommandTree& tree, const CommandText& command);

}  // namespace oddrank::cli
