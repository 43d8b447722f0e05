// Columns back to a capture, each id and count checked. Private to snapshot/.
#pragma once

#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// Returns the capture. `format` is the number of the file, kOldestFormat at least. Fails with
// kBadData, which names the table and column that do not fit.
Result<Capture> from_document(ReadDocument document, int format = kCaptureFormat);

}  // namespace oddrank::snapshot
