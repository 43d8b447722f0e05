// Replaces a text on the terminal by the next one, like watch(1), but in the normal screen and
// without changing the terminal's modes, so that a killed oddrank leaves the terminal as it was.
//
// The size of the terminal on which the output is shown.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace oddrank::cli {

class Screen {
 public:
  // Returns whether stdout is a terminal on which text can be replaced.
  static bool is_possible();

  // Replaces what is shown by `title` and as many lines of `text` as fit. `text` must have passed
  // printable_text(). If `marks`, marks what changed since the last call.
  void show(std::string_view title, std::string_view text, bool marks);

  // Shows the whole last text, which then stays in the terminal's history.
  void leave();

 private:
  std::string last_;
};

// Returns zeros if stdout is not a terminal, or its size is unknown.
inline winsize terminal_size() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

}  // namespace oddrank::cli
