#include "base/log.h"

#include <unistd.h>

#include <string>

namespace oddrank {
namespace {

LogLevel current_level = LogLevel::kWarning;

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error: ";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kDebug:
      return "debug: ";
  }
  return "";
}

}  // namespace

void set_log_level(LogLevel level) {
  current_level = level;
}

bool log_enabled(LogLevel level) {
  return level <= current_level;
}

void log_line(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) {
    return;
  }
  std::string line = "oddrank: ";
  line.append(level_name(level)).append(text).append("\n");
  // Nothing sensible can be done if stderr is closed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace oddrank
