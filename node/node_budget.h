// Shares out the time of a node, so that it answers in time, whatever hangs or however busy it is:
// the stacks come first, and each other source costs itself at most.
#pragma once

#include <chrono>

#include "base/deadline.h"

namespace oddrank::node {

// Three quarters of the time are for the stacks, what is left of it for all that is read beside
// them.
class NodeBudget {
 public:
  explicit NodeBudget(std::chrono::milliseconds timeout)
      : all_(Deadline::after(timeout)), reading_(Deadline::after(timeout * 3 / 4)) {}

  // The process that waits for the answer knows that it takes longer by this.
  void extend(std::chrono::milliseconds by);
  // For all processes of a sample together.
  std::chrono::milliseconds of_sample() const { return reading_.left(); }
  // For the next source beside the stacks: a part of what is left, 300 ms at least.
  std::chrono::milliseconds beside() const;

 private:
  Deadline all_;
  Deadline reading_;
};

}  // namespace oddrank::node
