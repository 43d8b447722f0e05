// Lines of a job's output that tell about its communication: PyTorch's watchdog, its desync report,
// NCCL's warnings, communicators whose making did not end.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// `text`: the end of a file; its first line may be cut. `rank`: whose output it is, -1 = of
// several. Of each kind the last few, in the order of the file. `node` and `source` are left to the
// caller.
std::vector<snapshot::LogLine> read_log_lines(std::string_view text,
                                              std::int32_t rank,
                                              snapshot::Tables& tables);

}  // namespace oddrank::collectives
