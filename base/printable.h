// Text that is safe and fits: everything that came from a target passes through here before it
// reaches a terminal, since names and paths may hold escape sequences or broken UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank {

// Valid UTF-8 without control characters; what is not becomes '?'. Length at most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 4096);

// Columns on a terminal: one a code point (wide scripts are not accounted for).
std::size_t columns(std::string_view text);

// Cut to `width` columns, at the end or at the front, with "..." in place of what is lost.
std::string cut_end(std::string_view text, std::size_t width);
std::string cut_front(std::string_view text, std::size_t width);

// Lines of at most `width` columns, broken at blanks; a longer word stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// "3 ranks", "1 rank".
std::string count_of(std::size_t count, std::string_view noun);

}  // namespace oddrank
