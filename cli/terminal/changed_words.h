// Marks what has changed in a report since it was last shown: on a screen of sixty lines an eye
// does not find the one rank that moved.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::cli {

// Returns `now` with the words that `before` does not have in reverse video. A line is compared
// with the line of the same shape: the same words, whatever their numbers are. Ages ("for 44 s")
// always change, so they are not marked. Colours of either text stay and count for nothing. If
// `before` is empty, nothing is marked.
std::string mark_changed_words(std::string_view before, std::string_view now);

}  // namespace oddrank::cli
