// Reads the answer of NCCL's RAS service as JSON (from NCCL 2.28.7 on).
//
// NCCL 2.28.7 and 2.28.9 omit a comma before the "status" of a missing rank (fixed in 2.29.2), in
// exactly the answers that matter most; it is inserted before the answer is parsed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collectives/nccl/ras_answer.h"

namespace oddrank::collectives {

// Returns the contents of the answer, even if it ends early. kBadData: it is not such an answer.
Result<RasAnswer> read_ras_json(std::string_view text);

// Inserts a comma wherever a string follows a value; leaves valid JSON as it is.
std::string repair_json(std::string_view text);

}  // namespace oddrank::collectives
