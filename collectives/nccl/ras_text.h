// Reads the answer of NCCL's RAS service as text, which every version with the service returns.
//
// The text is made for people: if the ranks of a communicator differ, it lists the minority, and
// for the others only their number and their count.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/nccl/ras_answer.h"

namespace oddrank::collectives {

// Returns the contents of the answer, even if it ends early. kBadData: it is not such an answer.
Result<RasAnswer> read_ras_text(std::string_view text);

}  // namespace oddrank::collectives
