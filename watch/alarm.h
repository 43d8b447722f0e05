// When a quiet job is worth a capture, and when it is one too many. Pure arithmetic of durations.
//
// An alarm is due after `stalled_for` without motion, but never before one and a half times the
// longest quiet time that this job is known to survive: an evaluation or a checkpoint that took ten
// minutes once may take fifteen. It comes before the collective watchdog fires, whose dumps blame
// the waiters, where that limit is known and the job has not shown to live beyond it.
//
// In one and the same stall it is raised three times at most: at once the limit, at twice, and at
// four times.
#pragma once

#include <chrono>

namespace oddrank::watch {

class Alarm {
 public:
  using Duration = std::chrono::milliseconds;

  explicit Alarm(Duration stalled_for) : stalled_for_(stalled_for) {}

  // So long nothing moved, and all was well.
  void learn(Duration quiet);
  // When the job's own watchdog would end it; zero: unknown.
  void set_watchdog(Duration limit) { watchdog_ = limit; }

  // The quiet time after which a first alarm is due.
  Duration limit() const;
  // Whether a capture is due, the job being quiet for so long. Less than at the last alarm means
  // that it had moved in between: the next stall is a new one.
  bool is_due(Duration quiet);
  // A capture at that quiet time showed a stall.
  void raise(Duration quiet);
  // Whether a stall was raised and the job has not moved since.
  bool raised() const { return raised_ > 0; }

 private:
  Duration stalled_for_;
  Duration longest_{0};
  Duration watchdog_{0};
  int raised_ = 0;
  Duration raised_at_{0};  // the quiet time of the last alarm
  Duration next_{0};       // of the next one in the same stall
};

}  // namespace oddrank::watch
