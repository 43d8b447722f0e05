// Converts columns back to a capture, and checks each id and count. Private to snapshot/.
#pragma once

#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// Returns the capture. `format` is the file's number, at least kOldestFormat. Fails with kBadData,
// which names the invalid table and column.
Result<Capture> from_document(ReadDocument document, int format = kCaptureFormat);

}  // namespace oddrank::snapshot
