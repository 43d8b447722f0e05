// Columns back to a capture, each id and count checked. Private to snapshot/.
#pragma once

#include "base/result.h"
#include "snapshot/capture.h"
#include "snapshot/capture_file.h"
#include "snapshot/columns.h"

namespace oddrank::snapshot {

// `format`: the number of the file, kOldestFormat at least. kBadData names the table and column
// that does not fit.
Result<Capture> from_document(ReadDocument document, int format = kCaptureFormat);

}  // namespace oddrank::snapshot
