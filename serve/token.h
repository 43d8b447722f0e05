// The secret in the URL of the live page: a client with it may read the reports.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::serve {

// Returns 128 random bits from the kernel, as 32 hexadecimal digits.
std::string make_token();

// Compares in a time that depends only on the length of `given`, so that the token cannot be
// guessed digit by digit.
bool is_token(std::string_view given, std::string_view token);

}  // namespace oddrank::serve
