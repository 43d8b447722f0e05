// Which step of its program each rank is in, by its own calls: a step is what repeats in them. The
// step's number is the number of the newest call divided by the calls of a step, so calls before
// the first step shift it. The distance between ranks is exact, and is given only for ranks that
// count the same calls. If a program makes equal calls several times a step, each time counts as a
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

struct RankStep {
  std::int32_t rank = -1;
  std::string group;        // whose calls are counted: "default group"
  bool transfers = false;   // sends and receives are counted; else collectives
  std::int64_t calls = 0;   // in one step of the rank
  std::int64_t newest = 0;  // number of the newest of these calls
  std::int64_t step = 0;    // from 1 on
  std::int64_t behind = 0;  // whole steps behind the foremost rank that counts the same calls
};

// Returns a row for each rank whose calls repeat, by rank. The calls must have been read from
// memory, beside the stacks.
std::vector<RankStep> rank_steps(const FlightJob& job);

// Returns the rank's row among those of rank_steps(); null if there is none.
const RankStep* step_of(const std::vector<RankStep>& steps, std::int32_t rank);

}  // namespace oddrank::aggregate
