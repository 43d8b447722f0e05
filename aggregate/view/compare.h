// What moved between two captures of one job. This is the surest sign of a hang: minutes lie
// between the captures, not half a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::aggregate {

enum class Change : std::uint8_t {
  kStill = 0,  // at the same place, and used hardly any CPU
  kRan,        // at the same place, and used the CPU
  kRound,      // at the same place in another iteration: counters differ
  kElsewhere,  // at another place
  kRestarted,  // another process is this rank now
  kGone,       // not there any more
  kNew,        // was not there
  kUnknown,    // could not be read in one of the two
};

// Returns the name in the JSON.
std::string_view change_name(Change change);  // "still", for JSON

// Ranks that changed in the same way.
struct ChangedRanks {
  Change change = Change::kUnknown;
  std::vector<std::int32_t> ranks;  // ascending; ranks without a number are left out
  std::size_t count = 0;
  std::string words;  // to follow "ranks 0-4": "stand where they stood, ..."
};

struct Comparison {
  std::uint64_t apart_us = 0;         // between the first readings of both
  std::vector<ChangedRanks> changes;  // in the order of Change; then largest first
};

// Compares the decider threads of the ranks. Ranks are matched by their number; processes without
// one by host and pid.
Comparison compare_captures(const snapshot::Capture& earlier, const snapshot::Capture& later);

}  // namespace oddrank::aggregate
