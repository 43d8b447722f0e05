// What the rows of a capture cost once they are decoded and diagnosed, so that a decoder can refuse
// a file before it allocates. Private to snapshot/.
//
// The figures are upper bounds of what the structs take in vectors that grow (three times their
// size), with what a diagnosis keeps of each; tests/unit/snapshot/format/hostile_test.cc measures.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/memory_budget.h"
#include "base/result.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// A capture may cost this much for each of its bytes in the file, and this much anyway. The largest
// real ones (all ranks alike, thousands of them) take a hundred times their size.
inline constexpr std::size_t kCaptureBytesForEach = 320;
inline constexpr std::size_t kCaptureBytesAnyway = std::size_t{40} << 20;

// A frame costs this much wherever it is printed: a stack stands in the file once, and rows refer
// to it.
inline constexpr std::size_t kCostOfShownFrame = 400;  // of a thread's last sample
inline constexpr std::size_t kCostOfSampledFrame = 4;  // of its other samples
// Reports list the threads of smaller jobs only (report/report_json.h).
inline constexpr std::size_t kMaxShownThreads = std::size_t{1} << 14;
inline constexpr std::size_t kCostOfTaskFrame = 400;

// Takes room for all texts and rows. kBadData: there is not enough.
Status take_rows(const ReadDocument& document, MemoryBudget& budget);

// The error of a capture that is over its budget.
Error over_budget();

}  // namespace oddrank::snapshot
