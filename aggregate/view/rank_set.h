// Sets of ranks as people write them: "0-4,6-7". Two or more consecutive ranks become a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::aggregate {

// Takes ranks in any order and with repeats; returns "" for none. Leaves out ranks below 0
// (unknown).
std::string format_ranks(std::vector<std::int32_t> ranks);

// Returns "rank 5" or "ranks 0-4,6-7".
std::string ranks_phrase(const std::vector<std::int32_t>& ranks);

// Returns the same within `width` columns, cut at a comma: "0-4,6-7,9,..." (the caller shows the
// count).
std::string format_ranks_within(const std::vector<std::int32_t>& ranks, std::size_t width);

// Returns the same as ranks_phrase, with the ranks within 60 columns.
std::string ranks_in_short(const std::vector<std::int32_t>& ranks);

}  // namespace oddrank::aggregate
