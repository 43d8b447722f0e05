// Converts a capture to columns. Private to snapshot/.
#pragma once

#include "snapshot/capture.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

Document to_document(const Capture& capture);

}  // namespace oddrank::snapshot
