// A node whose wall clock is off: how far, and its capture's times put right.
//
// A capture says by its own node's clock when each process was read. It arrived here at a time that
// is known by ours, and was taken after the agents were started: what it says has to lie between
// the two. Where it does not the clocks differ, and nothing that compares times of two nodes would
// be true (the spread of the looks, whether dumps belong together), while what is compared within
// the node still is. So all wall times of that capture are moved together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::slurm {

// Microseconds since the epoch, by the clock here.
struct Stay {
  std::int64_t began_us = 0;    // the agents were started
  std::int64_t arrived_us = 0;  // the node's answer was here
};

// How far the clock of the capture's node is ahead of ours (negative: behind); 0 where it is right
// to two seconds, or no process was read. A clock that is off by less than the agents took may pass
// for right. Off by as much as the agent needed after its last look: some seconds.
std::int64_t clock_ahead_us(const snapshot::Capture& capture, const Stay& stay);

// Takes that much from every wall time in the capture.
void set_clock_back(snapshot::Capture& capture, std::int64_t ahead_us);

struct NodeClock {
  std::string host;
  std::int64_t ahead_us = 0;
};

// "the clock of n2 is 1 h 0 min ahead, of n5 3 min behind of that where oddrank was started; ...";
// "" for none. At most eight are named.
std::string clock_note(const std::vector<NodeClock>& clocks);

}  // namespace oddrank::slurm
