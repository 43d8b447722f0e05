// JSON as plain data. A file that ends early gives what was complete.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/sources/plain_data.h"

namespace oddrank::collectives {

// kBadData: no JSON, damaged before its end, or nested deeper than 64.
Result<PlainDocument> read_json(std::string_view bytes);

}  // namespace oddrank::collectives
