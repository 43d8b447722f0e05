// A main thread in state D, which needs no root: in vfork(), until its child ends.
#pragma once

#include <unistd.h>

#include <string_view>

// The child says `ready`, and is in pause() from then on: until it runs, its parent may be in state
// D for other reasons (a lock that every fork takes, a page of the C library), and after that for
// this one only.
[[noreturn]] inline void wait_in_vfork(std::string_view ready) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = ::vfork();  // NOLINT: only vfork gives a state D that needs no root
#pragma GCC diagnostic pop
  if (child == 0) {
    // NOLINTBEGIN: system calls, and nothing else, are what the child does
    if (::write(STDOUT_FILENO, ready.data(), ready.size()) < 0) {
      ::_exit(1);
    }
    while (true) {
      ::pause();
    }
    // NOLINTEND
  }
  ::_exit(0);
}
