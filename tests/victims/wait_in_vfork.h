// A main thread in state D that needs no root: in vfork(), until its child exits.
#pragma once

#include <unistd.h>

#include <string_view>

// Waits in vfork() for a child that prints `ready` and then stays in pause(). Before the child
// runs, the parent may be in state D for other reasons (a lock that every fork takes, a page of the
// C library); afterwards only for this one.
[[noreturn]] inline void wait_in_vfork(std::string_view ready) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = ::vfork();  // NOLINT: only vfork gives a state D that needs no root
#pragma GCC diagnostic pop
  if (child == 0) {
    // NOLINTBEGIN: the child makes system calls and nothing else
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
