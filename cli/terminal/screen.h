// Shows a text on the terminal in the place of the one before, as watch(1) does, but in the normal
// screen and without changing the terminal's modes: however oddrank ends, the terminal is as
// before.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::cli {

class Screen {
 public:
  // Whether stdout is a terminal on which text can be replaced.
  static bool is_possible();

  // Replaces what is shown by `title` and as many lines of `text` as fit. `text` must have passed
  // printable_text(). What changed since the last call is marked if `marks`.
  void show(std::string_view title, std::string_view text, bool marks);

  // Replaces it by the whole of the last text, which then stays in the terminal's history.
  void leave();

 private:
  std::string last_;
};

}  // namespace oddrank::cli
