// Converts a capture to columns. Private to snapshot/.
#pragma once

#include "snapshot/capture.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// Returns the capture as columns, ready to be encoded.
Document to_document(const Capture& capture);

}  // namespace oddrank::snapshot
