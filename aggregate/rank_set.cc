#include "aggregate/rank_set.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::aggregate {

std::string format_ranks(std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text;
  for (std::size_t at = 0; at < ranks.size();) {
    if (ranks[at] < 0) {
      ++at;
      continue;
    }
    std::size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    if (!text.empty()) {
      text += ',';
    }
    text += std::to_string(ranks[at]);
    if (last > at) {
      text += '-' + std::to_string(ranks[last]);
    }
    at = last + 1;
  }
  return text;
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

Result<std::vector<std::int32_t>> parse_ranks(std::string_view text, std::size_t limit) {
  const auto bad = [text] {
    return fail(Errc::kBadData, "not a set of ranks: '" + std::string(text.substr(0, 80)) + "'",
                "write it as 0-4,6-7");
  };
  std::vector<std::int32_t> ranks;
  for (const std::string_view piece : split(text, ',')) {
    const std::size_t dash = piece.find('-');
    const auto first = parse_number<std::int32_t>(piece.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<std::int32_t>(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) {
      return bad();
    }
    if (static_cast<std::size_t>(*last - *first) >= limit - std::min(limit, ranks.size())) {
      return fail(Errc::kBadData, "more than " + std::to_string(limit) + " ranks in a set");
    }
    for (std::int64_t rank = *first; rank <= *last; ++rank) {
      ranks.push_back(static_cast<std::int32_t>(rank));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace oddrank::aggregate
