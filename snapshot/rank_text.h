// Lists of ranks as text, in their order: thousands of members of one group share one string of the
// tables. (Sets of ranks for people, in ascending order: aggregate/view/rank_set.h.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::snapshot {

inline constexpr std::size_t kMaxRanks = std::size_t{1} << 17;  // of one list

// Returns "4-7,0" for {4, 5, 6, 7, 0} and "1-17/8" for {1, 9, 17}: groups across replicas have
// equal steps and thousands of members. With kOne, as people write sets: only steps of 1.
enum class RankSteps : std::uint8_t { kAny = 0, kOne };
std::string rank_text(std::span<const std::int32_t> ranks, RankSteps steps = RankSteps::kAny);

// Returns the list of `size` consecutive ranks: "4-7", "4"; "" if `size` is 0.
std::string range_text(std::int32_t first, std::int32_t size);

// Reads such a list back. Fails with kBadData if it is not one, or has more than `limit` ranks.
Result<std::vector<std::int32_t>> parse_rank_text(std::string_view text, std::size_t limit);

// Returns the same; empty if that fails.
std::vector<std::int32_t> ranks_of(std::string_view text, std::size_t limit = kMaxRanks);

}  // namespace oddrank::snapshot
