// The errors of many files: the first ones, and how many more there are.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "cli/exit_status.h"

namespace oddrank::cli {

class ManyErrors {
 public:
  // Reports the error, or only counts it.
  void add(const Error& error);
  // Prints how many were only counted. Returns the worst exit status of these errors; kAllRead if
  // there were none.
  ExitStatus finish() const;

 private:
  std::size_t count_ = 0;
  ExitStatus worst_ = kAllRead;
};

}  // namespace oddrank::cli
