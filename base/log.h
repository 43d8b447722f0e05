// Log lines on stderr. stdout is only for the report. Levels: error: the user must act. warning:
// the result lacks something. info (-v): what is being done. debug (-vv): why. A log line never
// replaces a returned Error.
//
// Logs steps of work with the time of each (-v).
#pragma once

#include <chrono>
#include <string_view>

namespace oddrank {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// Sets the only mutable static of oddrank; main calls it once.
void set_log_level(LogLevel level);
// Returns whether lines of this level are written.
bool log_enabled(LogLevel level);
// Writes "oddrank: warning: text\n" with one write(2), so that lines of several processes stay
// whole. The text is made printable, and its further lines are indented.
void log_line(LogLevel level, std::string_view text);

class StepLog {
 public:
  StepLog() : begun_(std::chrono::steady_clock::now()) {}

  // Logs "found 8 processes: 61 ms", with the time since the last step; nothing without -v.
  void done(std::string_view step);

 private:
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace oddrank
