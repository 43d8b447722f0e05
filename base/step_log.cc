#include "base/step_log.h"

#include <string>

#include "base/log.h"

namespace oddrank {

void StepLog::done(std::string_view step) {
  const auto now = std::chrono::steady_clock::now();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
  begun_ = now;
  if (log_enabled(LogLevel::kInfo)) {
    log_line(LogLevel::kInfo, std::string(step) + ": " + std::to_string(took.count()) + " ms");
  }
}

}  // namespace oddrank
