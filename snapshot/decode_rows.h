// Columns back to a capture, each id and count checked. Private to snapshot/.
#pragma once

#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/columns.h"

namespace oddrank::snapshot {

// kBadData names the table and column that does not fit.
Result<Capture> from_document(ReadDocument document);

}  // namespace oddrank::snapshot
