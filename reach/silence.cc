#include "reach/silence.h"

#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::reach {

namespace {

std::string what_happened(const Silence& silence) {
  if (silence.total > 0) {
    return "its answer arrived incomplete: " + std::to_string(silence.received) + " of " +
           std::to_string(silence.total) + " pieces";
  }
  if (!silence.exit.empty()) {
    const std::string what = silence.no_copy_runs
                                 ? "oddrank is not there, and no copy of it could be run: "
                                 : "its agent ended without an answer: ";
    return what + silence.exit + (silence.complaint.empty() ? "" : " (" + silence.complaint + ")");
  }
  if (!silence.not_started.empty()) {
    return silence.not_started;
  }
  if (silence.interrupted) {
    return silence.heard ? "interrupted while its agent was reading"
                         : "interrupted before its agent started";
  }
  if (!silence.ended.empty()) {
    return silence.ended;
  }
  if (silence.heard) {
    return "its agent started but did not answer in " + span_words(silence.timeout);
  }
  const std::string did_not = "node did not answer in " + span_words(silence.timeout);
  return silence.of_all.empty() ? did_not : silence.of_all + "; " + did_not;
}

}  // namespace

std::string why_silent(const Silence& silence) {
  const std::string what = what_happened(silence);
  return silence.known.empty() ? what : what + "; " + silence.known;
}

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
