#include "watch/alarm.h"

#include <algorithm>

namespace oddrank::watch {
namespace {

constexpr int kMaxInOneStall = 3;

}  // namespace

void Alarm::learn(Duration quiet) {
  longest_ = std::max(longest_, quiet);
}

Alarm::Duration Alarm::limit() const {
  const Duration patient = std::max(stalled_for_, longest_ * 3 / 2);
  const bool fires = watchdog_ > Duration(0) && longest_ < watchdog_;
  return fires ? std::min(patient, watchdog_ * 4 / 5) : patient;
}

bool Alarm::is_due(Duration quiet) {
  if (raised_ > 0 && quiet < raised_at_) {
    raised_ = 0;
  }
  if (raised_ > 0) {
    return raised_ < kMaxInOneStall && quiet >= next_;
  }
  return quiet >= limit();
}

void Alarm::raise(Duration quiet) {
  ++raised_;
  raised_at_ = quiet;
  next_ = quiet * 2;
}

}  // namespace oddrank::watch
