#include "base/span_words.h"

#include <algorithm>
#include <cstdint>

namespace oddrank {
namespace {

// In milliseconds.
constexpr std::int64_t kTenth = 100;
constexpr std::int64_t kSecond = 10 * kTenth;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr double kMaxMs = 1e15;

std::string two_parts(std::int64_t large, const char* unit, std::int64_t small, const char* part) {
  std::string words = std::to_string(large) + unit;
  return small == 0 ? words : words + " " + std::to_string(small) + part;
}

}  // namespace

std::string span_words(std::chrono::duration<double, std::milli> span) {
  const auto ms = static_cast<std::int64_t>(std::clamp(span.count(), 0.0, kMaxMs));
  if (ms < kTenth) {
    return "0 s";
  }
  if (ms < 10 * kSecond && ms % kSecond >= kTenth) {
    return std::to_string(ms / kSecond) + "." + std::to_string(ms % kSecond / kTenth) + " s";
  }
  if (ms < 2 * kMinute) {
    return std::to_string(ms / kSecond) + " s";
  }
  if (ms < 2 * kHour) {
    return std::to_string(ms / kMinute) + " min";
  }
  return ms < 2 * kDay ? two_parts(ms / kHour, " h", ms % kHour / kMinute, " min")
                       : two_parts(ms / kDay, " d", ms % kDay / kHour, " h");
}

}  // namespace oddrank
