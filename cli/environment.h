// Variables of our own environment.
#pragma once

#include <cstdlib>
#include <string>

namespace oddrank::cli {

// Returns the variable; "" if it is not set. Our programs never set variables.
inline std::string own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): none is set
  return value == nullptr ? "" : value;
}

}  // namespace oddrank::cli
