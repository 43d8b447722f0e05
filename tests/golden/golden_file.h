// Compares text with a file that is checked in.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::tests {

// Compares with expected/`name`; with UPDATE_GOLDEN=1 in the environment writes the file instead
// and reports that. Returns "" if equal, else a text that shows the first line that differs.
std::string compare_golden(std::string_view name, const std::string& actual);

}  // namespace oddrank::tests
