// Words of command lines for a POSIX shell: what we run over ssh, and what a report advises to
// paste.
#pragma once

#include <string>
#include <string_view>

namespace oddrank {

// Returns the word so that a shell takes it for one word, as it is: in single quotes, unless it
// consists of characters that mean nothing to any shell. Every word of a command that is not ours
// (a path, a host, an id) passes through here.
std::string shell_quoted(std::string_view word);

}  // namespace oddrank
