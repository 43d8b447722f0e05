// The Python interpreters that live tests try: those of ODDRANK_PYTHONS (executables, separated by
// colons; scripts/pythons makes some), or else all that lie in ~/.pyenv/versions and /usr/bin.
#pragma once

#include <string>
#include <vector>

namespace oddrank::test {

struct Interpreter {
  std::string path;
  unsigned minor = 0;          // of Python 3
  bool free_threaded = false;  // "python3.14t"
};

// Returns each with its symbolic links resolved, so that none is tried twice.
std::vector<Interpreter> find_interpreters();

}  // namespace oddrank::test
