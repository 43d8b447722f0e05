// Marks what has changed in a report since it was last shown: the one rank that moved is hard to
// find on a screen of sixty lines.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::cli {

// Returns `now` with the words that `before` does not have in reverse video. A line is compared
// with the line that has the same words, apart from numbers. Ages ("for 44 s") always change, so
// they are not marked. Colours are kept, and not compared. If `before` is empty, nothing is marked.
std::string mark_changed_words(std::string_view before, std::string_view now);

}  // namespace oddrank::cli
