#include "reach/complaints.h"

#include "base/split.h"

namespace oddrank::reach {

std::string_view without_level(std::string_view line) {
  line = trim(line);
  for (const std::string_view level : {"error: ", "fatal: "}) {
    const auto at = line.find(level);
    if (at != std::string_view::npos && at < 40) {
      return line.substr(at + level.size());
    }
  }
  return line;
}

std::string first_complaint(std::string_view said) {
  for (const std::string_view line : split(said, '\n')) {
    if (const std::string_view words = without_level(line); !words.empty()) {
      return std::string(words.substr(0, kMaxComplaint));
    }
  }
  return {};
}

std::string_view last_line(std::string_view said) {
  std::string_view last;
  for (std::string_view line : split(said, '\n')) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    last = line.empty() ? last : line;
  }
  return last;
}

}  // namespace oddrank::reach
