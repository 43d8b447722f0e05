// Masks secrets in command lines, variables of environments and programs, URLs, paths and lines of
// logs, since captures and reports are passed around. All masking is here.
//
// Heuristic. A secret is known by its name (secret_names.h), by its place (a password in a URL, an
// option of a well-known program), or by its shape (a token's beginning, a run too random for a
// name). The mask extends to the end of the argument, since blanks and commas may be parts of a
// password. The corpus that measures it: tests/unit/base/secrets/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/secrets/secret_names.h"

namespace oddrank {

// Replaces each secret in a text ("password=abc") by "***". A text of more than 64 KiB is cut.
std::string mask_text(std::string_view text);

// Returns the arguments as one line: masked, control characters replaced, cut at `limit` bytes.
std::string mask_command(std::span<const std::string> arguments, std::size_t limit = 4096);

}  // namespace oddrank
