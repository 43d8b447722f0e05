// Converts a capture to columns, and columns back to a capture, and checks each id and count then.
// Private to snapshot/.
#pragma once

#include <cstddef>

#include "base/memory_budget.h"
#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// Returns the capture. Skips tables and columns that this version does not know, so that it can
// read a newer version's file. Fails with kBadData, which names the invalid table and column, or
// says that the budget does not suffice.
Result<Capture> from_document(const ReadDocument& document,
                              MemoryBudget budget = MemoryBudget(std::size_t{1} << 30));

// Returns the capture as columns, ready to be encoded.
Document to_document(const Capture& capture);

}  // namespace oddrank::snapshot
