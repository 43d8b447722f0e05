#include "aggregate/view/rank_set.h"

#include <algorithm>

#include "snapshot/rank_text.h"

namespace oddrank::aggregate {

std::string format_ranks(std::vector<std::int32_t> ranks) {
  std::erase_if(ranks, [](std::int32_t rank) { return rank < 0; });
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return snapshot::rank_text(ranks, snapshot::RankSteps::kOne);
}

std::string ranks_phrase(const std::vector<std::int32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + format_ranks(ranks);
}

std::string format_ranks_within(const std::vector<std::int32_t>& ranks, std::size_t width) {
  std::string text = format_ranks(ranks);
  if (text.size() <= width) {
    return text;
  }
  const std::size_t room = width > 4 ? width - 4 : 0;
  const std::size_t comma = text.rfind(',', room);
  return (comma == std::string::npos ? std::string() : text.substr(0, comma + 1)) + "...";
}

std::string ranks_in_short(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kWidth = 60;
  return (ranks.size() == 1 ? "rank " : "ranks ") + format_ranks_within(ranks, kWidth);
}

}  // namespace oddrank::aggregate
