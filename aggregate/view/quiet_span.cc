#include "aggregate/view/quiet_span.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/span_words.h"

namespace oddrank::aggregate {

using std::chrono::milliseconds;

void QuietSpan::add(const snapshot::ThreadCapture& thread) {
  const std::int64_t ms = thread.wait.quiet_ms;
  if (ms < 0) {
    add_unknown();
    return;
  }
  least_ms_ = least_ms_ < 0 ? ms : std::min(least_ms_, ms);
  most_ms_ = std::max(most_ms_, ms);
}

bool QuietSpan::tells() const {
  return !unknown_ && least_ms_ >= 1000;
}

std::string QuietSpan::words() const {
  if (!tells()) {
    return {};
  }
  const std::string least = span_words(milliseconds(least_ms_));
  const std::string most = span_words(milliseconds(most_ms_));
  return least == most ? fmt::format("for {}", most) : fmt::format("for {} to {}", least, most);
}

}  // namespace oddrank::aggregate
