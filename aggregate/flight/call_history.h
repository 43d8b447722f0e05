// The last calls of ranks, as their flight recorders have them: shown for a rank that has left its
// own pattern, beside the calls of the others. Plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::aggregate {

struct HistoryCall {
  std::string op;
  std::string group;         // "default", or "group tp"
  std::string place;         // "train (train.py:61)"; "" = unknown
  std::int64_t number = -1;  // of collectives or of transfers within the group
  std::int32_t peer = -1;    // of a transfer: a rank within the group
  bool open = false;         // it has not ended

  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the 0 that it compares with for one
  auto operator<=>(const HistoryCall&) const = default;
};

// Calls that these ranks have in common.
struct CallHistory {
  std::vector<std::int32_t> ranks;
  bool named = false;              // by the verdict
  bool earlier = false;            // there are calls before the first of these
  std::vector<HistoryCall> calls;  // oldest first
};

}  // namespace oddrank::aggregate
