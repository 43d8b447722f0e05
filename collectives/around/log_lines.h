// Finds lines of a job's output about its communication (PyTorch's watchdog and desync report,
// NCCL's warnings, communicators that NCCL has not finished creating), and srun's lines about ended
// tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// How many lines of each kind are kept: the last ones.
inline constexpr std::size_t kMaxLinesOfKind = 32;

struct LogLines {
  std::vector<snapshot::LogLine> lines;  // in the order of the file; without `node` and `source`
  std::size_t left_out = 0;              // older ones
};

// Returns the last lines of each kind. `text`: the end of a file; its first line may be cut.
// `rank`: the rank that wrote it; -1 = several ranks.
LogLines read_log_lines(std::string_view text, std::int32_t rank, snapshot::Tables& tables);

}  // namespace oddrank::collectives
