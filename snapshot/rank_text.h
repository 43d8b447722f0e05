// Lists of ranks as text, in their order: thousands of members of one group share one string of the
// tables. (Sets of ranks for people, in ascending order: aggregate/view/rank_set.h.)
//
// Lists of ranks from a capture's texts, each parsed once. A text of ten bytes may stand for a
// hundred thousand ranks, so all lists together have a limit; lists beyond it count as unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "snapshot/ids.h"

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

// A job of 16,384 ranks with ten kinds of groups needs 170,000.
inline constexpr std::size_t kMaxListedRanks = std::size_t{1} << 21;

class RankLists {
 public:
  // Returns the ranks in the text; empty if it is no such list, or all lists together are too long.
  // References stay valid.
  const std::vector<std::int32_t>& of(StringId id, std::string_view text);

 private:
  std::unordered_map<std::uint32_t, std::vector<std::int32_t>> lists_;
  std::size_t left_ = kMaxListedRanks;
};

inline const std::vector<std::int32_t>& RankLists::of(StringId id, std::string_view text) {
  const auto [at, is_new] = lists_.try_emplace(static_cast<std::uint32_t>(id));
  if (is_new && left_ > 0) {
    at->second = ranks_of(text, left_ < kMaxRanks ? left_ : kMaxRanks);
    left_ -= at->second.size();
  }
  return at->second;
}

}  // namespace oddrank::snapshot
