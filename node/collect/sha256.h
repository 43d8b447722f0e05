// SHA-256 (FIPS 180-4), to compare files; people can check the result with sha256sum. Not for
// secrets: its time depends on the length.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::node {

// Returns 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace oddrank::node
