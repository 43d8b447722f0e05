// Makes text safe and short enough. Everything from a target passes through here before it reaches
// a terminal, a file or a browser: names and paths may hold escape sequences, broken UTF-8, or code
// points that turn the text around them.
//
// Names and values pass printable() where they are put into a sentence; all output passes
// printable_text() where it is written (cli/output.h, base/log.h), so that none is forgotten.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank {

// Returns valid UTF-8 of at most `limit` bytes. Control characters, invisible code points (marks of
// direction, separators of lines, tags) and broken UTF-8 become '?'.
std::string printable(std::string_view text, std::size_t limit = 4096);

// Does the same to a whole output: keeps line ends and tabs, and with `colors` escape sequences of
// colours (no others).
std::string printable_text(std::string_view text, bool colors = false);

// Counts the columns on a terminal: one for each code point (also for wide scripts).
std::size_t columns(std::string_view text);

// Return the text cut to `width` columns, at the end or at the front, with "..." in place of the
// lost part.
std::string cut_end(std::string_view text, std::size_t width);
std::string cut_front(std::string_view text, std::size_t width);
// Returns the text cut in the middle, for names of parts joined by dots: the last part stays whole
// if it fits.
std::string cut_middle(std::string_view text, std::size_t width);

// Breaks text at blanks into lines of at most `width` columns; a longer word stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// Returns "3 ranks" or "1 rank".
std::string count_of(std::size_t count, std::string_view noun);

// Returns "first; second", or only the text that is not empty.
std::string join_clauses(std::string_view first, std::string_view second);

}  // namespace oddrank
