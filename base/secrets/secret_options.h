// Options of a command line whose value is a secret: by their names, or as options of well-known
// programs ("mysql -pX", "curl -u user:password", "sshpass -p X").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oddrank {

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
