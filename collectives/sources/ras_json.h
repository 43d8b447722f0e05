// Reads the answer of NCCL's RAS service as JSON (from NCCL 2.28.7 on).
//
// NCCL 2.28.7 and 2.28.9 forget a comma in front of the "status" of a missing rank (fixed in
// 2.29.2), which is in the answers that matter most; it is put in before the answer is read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collectives/sources/ras_answer.h"

namespace oddrank::collectives {

// Returns what the answer holds, also if it ends early. kBadData: it is no such answer.
Result<RasAnswer> read_ras_json(std::string_view text);

// Puts a comma wherever a value is followed by a string; leaves valid JSON as it is.
std::string repair_json(std::string_view text);

}  // namespace oddrank::collectives
