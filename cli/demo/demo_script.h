// The program that the ranks of `oddrank demo` run: cli/demo/train.py, which is built into oddrank.
#pragma once

#include <string_view>

namespace oddrank::cli {

// Returns the text of the script.
std::string_view demo_script();

}  // namespace oddrank::cli
