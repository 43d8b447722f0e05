// A library that a victim loads. Built twice with different names for the same code, so that a
// reader that uses the wrong file gets a wrong name at the right place.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#define ODDRANK_JOIN_INNER(a, b) a##b
#define ODDRANK_JOIN(a, b) ODDRANK_JOIN_INNER(a, b)

extern "C" {

[[gnu::noinline]] int ODDRANK_JOIN(PLUGIN_NAME, _wait)() {
  std::printf("ready %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) != 0) {
  }
  std::exit(0);
}

int plugin_run() {
  return ODDRANK_JOIN(PLUGIN_NAME, _wait)() + 1;
}

}  // extern "C"
