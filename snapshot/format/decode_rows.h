// Converts columns back to a capture, and checks each id and count. Private to snapshot/.
#pragma once

#include <cstddef>

#include "base/memory_budget.h"
#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// Returns the capture. `format` is the file's number, at least kOldestFormat. Fails with kBadData,
// which names the invalid table and column, or says that the budget does not suffice.
Result<Capture> from_document(ReadDocument document,
                              int format = kCaptureFormat,
                              MemoryBudget budget = MemoryBudget(std::size_t{1} << 30));

}  // namespace oddrank::snapshot
