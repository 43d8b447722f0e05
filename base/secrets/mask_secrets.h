// Masks secrets in command lines, variables of environments and programs, URLs, paths and lines of
// logs, since captures and reports are passed around. All masking is here.
//
// Heuristic. A secret is known by its name (secret_names.h), by its place (a password in a URL, an
// option of a well-known program), or by its shape (a token's beginning, a run too random for a
// name). The mask extends to the end of the argument, since blanks and commas may be parts of a
// password. The corpus that measures it: tests/unit/base/secrets/.
//
// Options of a command line whose value is a secret: by their names, or as options of well-known
// programs ("mysql -pX", "curl -u user:password", "sshpass -p X").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/secrets/secret_names.h"

namespace oddrank {

// Replaces each secret in a text ("password=abc") by "***". A text of more than 64 KiB is cut.
std::string mask_text(std::string_view text);

// Returns the arguments as one line: masked, control characters replaced, cut at `limit` bytes.
std::string mask_command(std::span<const std::string> arguments, std::size_t limit = 4096);

// Reads the arguments of one command line in their order.
class OptionReader {
 public:
  // Returns the first byte of the argument that is secret; nullopt if its place does not make it a
  // secret. (mask_text searches for secrets within it.)
  std::optional<std::size_t> secret_from(std::string_view argument);
  // Returns whether the next argument is a script of a shell ("bash -c" came before). Then do not
  // pass it to secret_from.
  bool take_script();

 private:
  void note_program(std::string_view argument);
  void note_option(std::string_view argument);
  std::optional<std::size_t> attached_value(std::string_view argument) const;

  std::string option_;  // the option whose value comes next; "" if none
  bool secret_next_ = false;
  bool plain_p_ = false;   // the option before was "-p"
  bool flag_ = false;      // the option may have no value: "--use-auth"
  unsigned programs_ = 0;  // bits: rows of the table of programs that were named
  bool shell_ = false;
  bool expects_script_ = false;
};

}  // namespace oddrank
