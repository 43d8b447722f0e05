// Makes text safe and short enough. Everything from a target passes through here before it reaches
// a terminal: names and paths may hold escape sequences or broken UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank {

// Returns valid UTF-8 without control characters; anything else becomes '?'. At most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 4096);

// Counts the columns on a terminal: one for each code point (also for wide scripts).
std::size_t columns(std::string_view text);

// Cut to `width` columns, at the end or at the front, with "..." in place of the lost part.
std::string cut_end(std::string_view text, std::size_t width);
std::string cut_front(std::string_view text, std::size_t width);

// Breaks text at blanks into lines of at most `width` columns; a longer word stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Returns "3 ranks" or "1 rank".
std::string count_of(std::size_t count, std::string_view noun);

}  // namespace oddrank
