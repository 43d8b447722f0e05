// Words of command lines for a POSIX shell: what we run over ssh, what a report advises to paste,
// and commands that are given as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank {

// Returns the word so that a shell takes it for one word, as it is: in single quotes, unless it
// consists of characters that mean nothing to any shell. Every word of a command that is not ours
// (a path, a host, an id) passes through here.
std::string shell_quoted(std::string_view word);

// Returns the words that a shell makes of the text: blanks separate them, but for those in quotes
// or behind a backslash. Nothing is expanded: all other characters stand for themselves. kUsage: a
// quote that is not closed.
Result<std::vector<std::string>> split_as_shell(std::string_view text);

}  // namespace oddrank
