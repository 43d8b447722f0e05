// Finds the error of a node's wall clock, and corrects the times in its capture.
//
// A capture says when each process was read, by its own node's clock. By our clock, this was
// between the start of the agents and the arrival of the answer. If the capture's times are outside
// of that range, the clocks differ: comparing times of two nodes would be wrong (the spread of the
// samples, the matching of dumps), but times within the node stay comparable. So all wall times of
// that capture are shifted together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::reach {

// Microseconds since the epoch, by our own clock.
struct Stay {
  std::int64_t began_us = 0;    // the agents were started
  std::int64_t arrived_us = 0;  // the node's answer arrived
};

// Returns how far the clock of the capture's node is ahead of ours (negative: behind); 0 if it is
// within two seconds or no process was read. An error smaller than the time that the agents took
// may be missed. The result is inexact by the time from the agent's last sample to its answer: some
// seconds.
std::int64_t clock_ahead_us(const snapshot::Capture& capture, const Stay& stay);

// Subtracts that much from every wall time in the capture.
void set_clock_back(snapshot::Capture& capture, std::int64_t ahead_us);

struct NodeClock {
  std::string host;
  std::int64_t ahead_us = 0;
};

// Returns "clocks differ from the one where oddrank was started: n2 is 1 h 0 min ahead, n5 is 3 min
// behind; ..."; "" for none. Names at most eight nodes.
std::string clock_note(const std::vector<NodeClock>& clocks);

}  // namespace oddrank::reach
