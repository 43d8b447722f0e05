// Logs steps of work with the time of each (-v).
#pragma once

#include <chrono>
#include <string_view>

namespace oddrank {

class StepLog {
 public:
  StepLog() : begun_(std::chrono::steady_clock::now()) {}

  // Logs "found 8 processes: 61 ms", with the time since the last step; nothing without -v.
  void done(std::string_view step);

 private:
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace oddrank
