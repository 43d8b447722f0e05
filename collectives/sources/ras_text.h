// Reads the answer of NCCL's RAS service as text, which every version with the service gives.
//
// The text is made for people: of a communicator whose ranks differ it lists the few, and says only
// how many the others are and how far they got.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/sources/ras_answer.h"

namespace oddrank::collectives {

// Returns what the answer holds, also if it ends early. kBadData: it is no such answer.
Result<RasAnswer> read_ras_text(std::string_view text);

}  // namespace oddrank::collectives
