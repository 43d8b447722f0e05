// The size of the terminal on which the output is shown.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

namespace oddrank::cli {

// Returns zeros if stdout is not a terminal, or its size is unknown.
inline winsize terminal_size() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

}  // namespace oddrank::cli
