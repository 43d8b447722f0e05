// Decides when and how often a quiet job is captured. Pure arithmetic with durations.
//
// An alarm is due after `stalled_for` without motion, but never before one and a half times the
// longest quiet time that this job has survived: an evaluation or a checkpoint that once took ten
// minutes may take fifteen. PyTorch's watchdog ends the job, and its dumps blame the waiters. So
// the alarm comes before the watchdog's limit, if that is known and the job has not already
// survived it.
//
// Each stall raises at most three alarms: at the limit, at twice and at four times the limit.
#pragma once

#include <chrono>

namespace oddrank::watch {

class Alarm {
 public:
  using Duration = std::chrono::milliseconds;

  explicit Alarm(Duration stalled_for) : stalled_for_(stalled_for) {}

  // Notes that nothing moved for this long in a healthy job.
  void learn(Duration quiet);
  // Sets the time after which the job's own watchdog would end it; zero: unknown.
  void set_watchdog(Duration limit) { watchdog_ = limit; }

  // Returns the quiet time after which a first alarm is due.
  Duration limit() const;
  // Returns true if a capture is due after this quiet time. If the time is shorter than at the last
  // alarm, the job has moved in between, and this stall is a new one.
  bool is_due(Duration quiet);
  // Notes that a capture at this quiet time showed a stall.
  void raise(Duration quiet);
  // Returns true if an alarm was raised and the job has not moved since.
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
