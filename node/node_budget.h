// Shares out the time of a node, so that it answers in time, whatever hangs or however busy it is:
// the stacks come first, and each other source costs itself at most.
#pragma once

#include <chrono>

#include "base/deadline.h"

namespace oddrank::node {

class NodeBudget {
 public:
  explicit NodeBudget(std::chrono::milliseconds timeout)
      : all_(Deadline::after(timeout)), reading_(all_) {}

  // Since the node was asked.
  std::chrono::milliseconds spent() const;
  // The processes are known. Three quarters of the time that is left are for the stacks, the rest
  // for all that is read beside them.
  void begin_reading() { reading_ = Deadline::after(all_.left() * 3 / 4); }
  // The process that waits for the answer knows that it takes longer by this.
  void extend(std::chrono::milliseconds by);
  // For all processes of a sample together.
  std::chrono::milliseconds of_sample() const { return reading_.left(); }
  // For the counters that must be read before any thread is stopped: a small part of what is left.
  std::chrono::milliseconds before() const;
  // For the next source beside the stacks: a part of what is left, 300 ms at least.
  std::chrono::milliseconds beside() const;

 private:
  Deadline::Clock::time_point begun_ = Deadline::Clock::now();
  Deadline all_;
  Deadline reading_;
};

}  // namespace oddrank::node
