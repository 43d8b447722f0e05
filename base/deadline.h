// A point in time by which an operation must be done. Every wait in oddrank takes one.
#pragma once

#include <algorithm>
#include <chrono>

namespace oddrank {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(std::chrono::milliseconds duration) {
    return Deadline(Clock::now() + duration);
  }
  // Returns this deadline or `duration` from now, whichever is earlier.
  Deadline at_most(std::chrono::milliseconds duration) const {
    return Deadline(std::min(when_, Clock::now() + duration));
  }

  // Returns the deadline `duration` after this one.
  Deadline later(std::chrono::milliseconds duration) const { return Deadline(when_ + duration); }

  bool passed() const { return Clock::now() >= when_; }
  // Returns the time left: never negative, and rounded up so that poll() with it does not spin
  // through the last millisecond.
  std::chrono::milliseconds left() const;
  // Returns left() as poll(2) takes it.
  int poll_timeout() const {
    return static_cast<int>(std::min<std::chrono::milliseconds::rep>(left().count(), 1 << 30));
  }
  Clock::time_point when() const { return when_; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

inline std::chrono::milliseconds Deadline::left() const {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now()),
                  std::chrono::milliseconds(0));
}

}  // namespace oddrank
