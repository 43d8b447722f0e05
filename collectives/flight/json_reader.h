// Reads JSON as plain data. If a file ends early, the result is the complete part.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/flight/plain_data.h"

namespace oddrank::collectives {

// Returns the document. kBadData: not JSON, damaged before its end, or nested deeper than 64.
Result<PlainDocument> read_json(std::string_view bytes);

}  // namespace oddrank::collectives
