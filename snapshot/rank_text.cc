#include "snapshot/rank_text.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::snapshot {

std::string rank_text(std::span<const std::int32_t> ranks) {
  std::string text;
  for (std::size_t at = 0; at < ranks.size();) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && std::int64_t{ranks[last]} + 1 == ranks[last + 1]) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + std::to_string(ranks[at]);
    if (last > at) {
      text += "-" + std::to_string(ranks[last]);
    }
    at = last + 1;
  }
  return text;
}

Result<std::vector<std::int32_t>> parse_rank_text(std::string_view text, std::size_t limit) {
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
  return ranks;
}

std::vector<std::int32_t> ranks_of(std::string_view text, std::size_t limit) {
  return parse_rank_text(text, limit).value_or(std::vector<std::int32_t>());
}

}  // namespace oddrank::snapshot
