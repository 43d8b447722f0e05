#include "base/log.h"

#include <unistd.h>

#include <string>

#include "base/printable.h"

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

// Returns the text with each further line indented: a line end in a file's name must not look like
// the start of another message.
std::string indented(std::string_view text) {
  std::string result;
  while (true) {
    const auto end = text.find('\n');
    result += text.substr(0, end);
    if (end == std::string_view::npos) {
      return result;
    }
    text.remove_prefix(end + 1);
    result += text.starts_with("  ") ? "\n" : "\n  ";
  }
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
  line.append(level_name(level)).append(indented(printable_text(text))).append("\n");
  // Nothing sensible can be done if stderr is closed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void StepLog::done(std::string_view step) {
  const auto now = std::chrono::steady_clock::now();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
  begun_ = now;
  if (log_enabled(LogLevel::kInfo)) {
    log_line(LogLevel::kInfo, std::string(step) + ": " + std::to_string(took.count()) + " ms");
  }
}

}  // namespace oddrank
