// Lists of ranks from a capture's texts, each parsed once. A text of ten bytes may stand for a
// hundred thousand ranks, so all lists together have a limit; lists beyond it count as unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snapshot/ids.h"
#include "snapshot/rank_text.h"

namespace oddrank::snapshot {

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
