// Sets of ranks as people write them: "0-4,6-7". A range stands for two consecutive ranks or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::aggregate {

// In any order and with repeats; "" for none. Ranks below 0 (unknown) are left out.
std::string format_ranks(std::vector<std::int32_t> ranks);

// The same within `width` columns, cut at a comma: "0-4,6-7,9,..." (the count is for the caller).
std::string format_ranks_within(const std::vector<std::int32_t>& ranks, std::size_t width);

// kBadData: not such a set, or more than `limit` ranks.
Result<std::vector<std::int32_t>> parse_ranks(std::string_view text,
                                              std::size_t limit = std::size_t{1} << 20);

}  // namespace oddrank::aggregate
