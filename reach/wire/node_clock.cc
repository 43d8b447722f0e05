#include "reach/wire/node_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/span_words.h"

namespace oddrank::reach {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kToleranceUs = 2 * kSecondUs;
constexpr std::size_t kMaxNamed = 8;

// Times come from the node: no value may overflow. 0 means unknown and stays 0.
template <typename T>
void move_back(T& time, std::int64_t by) {
  T moved{};
  if (time != 0 && !__builtin_sub_overflow(time, by, &moved)) {
    time = moved;
  }
}

std::int64_t last_sample_us(const snapshot::Capture& capture) {
  std::uint64_t last = 0;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    last = std::max(last, process.read_us);
  }
  return static_cast<std::int64_t>(std::min<std::uint64_t>(last, INT64_MAX));
}

std::string words_of(const NodeClock& clock) {
  // clock_ahead_us() never returns such values, but -INT64_MIN would overflow.
  constexpr std::int64_t kMax = INT64_MAX / 2;
  const std::chrono::microseconds span(std::abs(std::clamp(clock.ahead_us, -kMax, kMax)));
  // The travel time of the answer is unknown, so the result is rounded.
  const auto whole = span < std::chrono::minutes(2)
                         ? std::chrono::floor<std::chrono::seconds>(span)
                         : std::chrono::round<std::chrono::minutes>(span);
  return clock.host + " is " + span_words(whole) + (clock.ahead_us > 0 ? " ahead" : " behind");
}

}  // namespace

std::int64_t clock_ahead_us(const snapshot::Capture& capture, const Stay& stay) {
  const std::int64_t last = last_sample_us(capture);
  const bool possible =
      last >= stay.began_us - kToleranceUs && last <= stay.arrived_us + kToleranceUs;
  return last == 0 || possible ? 0 : last - stay.arrived_us;
}

void set_clock_back(snapshot::Capture& capture, std::int64_t ahead_us) {
  for (snapshot::ProcessCapture& process : capture.processes) {
    move_back(process.read_us, ahead_us);
  }
  std::int64_t ahead_ns = 0;
  const bool fits = !__builtin_mul_overflow(ahead_us, std::int64_t{1000}, &ahead_ns);
  for (snapshot::FlightRecord& record : capture.collectives.flight) {
    move_back(record.written_us, ahead_us);
    for (snapshot::FlightEntry& entry : record.entries) {
      move_back(entry.created_ns, fits ? ahead_ns : 0);
    }
  }
}

std::string clock_note(const std::vector<NodeClock>& clocks) {
  if (clocks.empty()) {
    return {};
  }
  std::string text = "clocks differ from the one where oddrank was started: ";
  for (std::size_t i = 0; i < clocks.size() && i < kMaxNamed; ++i) {
    text += (i == 0 ? "" : ", ") + words_of(clocks[i]);
  }
  if (clocks.size() > kMaxNamed) {
    text += ", and " + std::to_string(clocks.size() - kMaxNamed) + " more nodes";
  }
  return text + "; the times in their captures were corrected";
}

}  // namespace oddrank::reach
