// A Python that can import torch, for live tests of real training processes.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/victim.h"

namespace oddrank::test {

// Returns ODDRANK_TORCH_PYTHON, or the virtual environment that scripts/setup makes in the
// repository; nullopt if neither exists.
inline std::optional<std::string> torch_python() {
  if (const char* named = std::getenv("ODDRANK_TORCH_PYTHON")) {
    return std::string(named);
  }
  const std::string made = victim_script("../../.venv/bin/python");
  return ::access(made.c_str(), X_OK) == 0 ? std::optional(made) : std::nullopt;
}

}  // namespace oddrank::test
