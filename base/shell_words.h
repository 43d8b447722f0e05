// Words of command lines for a POSIX shell: commands that we run over ssh, that a report advises to
// paste, or that the user gives as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank {

// Returns the word as a shell reads it unchanged as one word: in single quotes, unless all its
// characters are harmless in every shell. Every foreign word of a command (a path, a host, an id)
// passes through here.
std::string shell_quoted(std::string_view word);

// Returns the words that a shell makes of the text: blanks separate them, except in quotes or
// behind a backslash. Nothing is expanded. kUsage: a quote that is not closed.
Result<std::vector<std::string>> split_as_shell(std::string_view text);

}  // namespace oddrank
