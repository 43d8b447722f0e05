// The secret in the address of the live page: whoever knows it may read the reports.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::serve {

// Returns 128 random bits from the kernel, as 32 hexadecimal digits.
std::string make_token();

// Compares in a time that depends on the length of `given` only, so that nobody finds the token
// digit by digit.
bool is_token(std::string_view given, std::string_view token);

}  // namespace oddrank::serve
