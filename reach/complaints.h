// The messages on stderr of agents that fail, and of the programs that start them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oddrank::reach {

// Complaints are cut at this many bytes.
inline constexpr std::size_t kMaxComplaint = 200;

// Returns a program's line without the blanks around it and without its level: "srun: error: x",
// "slurm_load_jobs error: x" -> "x".
std::string_view without_level(std::string_view line);

// Returns the first line that is not empty, without its level; "" if there is none.
std::string first_complaint(std::string_view said);

// Returns the last line that is not empty, unchanged; "" if there is none.
std::string_view last_line(std::string_view said);

}  // namespace oddrank::reach
