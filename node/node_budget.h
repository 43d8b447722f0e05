// Divides a node's time, so that it answers in time whatever hangs or however busy it is: the
// stacks come first, and another source that is slow loses only itself.
#pragma once

#include <chrono>

#include "base/deadline.h"

namespace oddrank::node {

class NodeBudget {
 public:
  explicit NodeBudget(std::chrono::milliseconds timeout)
      : all_(Deadline::after(timeout)), reading_(all_) {}

  // Returns the time since the node was asked.
  std::chrono::milliseconds spent() const;
  // Call it when the processes are known. Three quarters of the remaining time are for the stacks,
  // the rest for the other sources.
  void begin_reading() { reading_ = Deadline::after(all_.left() * 3 / 4); }
  // Adds time for which the waiting process has already been prepared.
  void extend(std::chrono::milliseconds by);
  // Returns the time for all processes of a sample together.
  std::chrono::milliseconds of_sample() const { return reading_.left(); }
  // Returns the time for the counters that must be read before any thread is stopped: a small part
  // of the rest.
  std::chrono::milliseconds before() const;
  // Returns the time for the next source beside the stacks: a part of the rest, at least 300 ms.
  std::chrono::milliseconds beside() const;

 private:
  Deadline::Clock::time_point begun_ = Deadline::Clock::now();
  Deadline all_;
  Deadline reading_;
};

}  // namespace oddrank::node
