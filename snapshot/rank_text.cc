#include "snapshot/rank_text.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::snapshot {

namespace {

// Ranks that ascend by equal steps from the first one.
struct Run {
  std::size_t size = 1;
  std::int64_t step = 1;
};

Run run_at(std::span<const std::int32_t> ranks, RankSteps steps) {
  Run run;
  if (ranks.size() < 2) {
    return run;
  }
  run.step = std::int64_t{ranks[1]} - ranks[0];
  if (run.step < 1 || (run.step > 1 && steps == RankSteps::kOne)) {
    return {};
  }
  while (run.size < ranks.size() &&
         std::int64_t{ranks[run.size]} - ranks[run.size - 1] == run.step) {
    ++run.size;
  }
  // If there is a gap between two ranks, the second may begin a run.
  return run.step > 1 && run.size < 3 ? Run{} : run;
}

}  // namespace

std::string rank_text(std::span<const std::int32_t> ranks, RankSteps steps) {
  std::string text;
  while (!ranks.empty()) {
    const Run run = run_at(ranks, steps);
    text += (text.empty() ? "" : ",") + std::to_string(ranks.front());
    if (run.size > 1) {
      text += "-" + std::to_string(ranks[run.size - 1]);
    }
    if (run.step > 1) {
      text += "/" + std::to_string(run.step);
    }
    ranks = ranks.subspan(run.size);
  }
  return text;
}

std::string range_text(std::int32_t first, std::int32_t size) {
  const std::string begin = std::to_string(first);
  return size < 1 ? "" : size == 1 ? begin : begin + "-" + std::to_string(first + size - 1);
}

Result<std::vector<std::int32_t>> parse_rank_text(std::string_view text, std::size_t limit) {
  const auto bad = [text] {
    return fail(Errc::kBadData, "not a set of ranks: '" + std::string(text.substr(0, 80)) + "'",
                "write it as 0-4,6-7");
  };
  std::vector<std::int32_t> ranks;
  for (const std::string_view piece : split(text, ',')) {
    const std::size_t dash = piece.find('-');
    const std::size_t slash = dash == std::string_view::npos ? dash : piece.find('/', dash);
    const auto number = [](std::string_view digits) { return parse_number<std::int32_t>(digits); };
    const auto first = number(piece.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number(piece.substr(dash + 1, slash - dash - 1));
    const auto step = slash == std::string_view::npos ? 1 : number(piece.substr(slash + 1));
    if (!first || !last || !step || *first < 0 || *last < *first || *step < 1) {
      return bad();
    }
    if (static_cast<std::size_t>((*last - *first) / *step) >=
        limit - std::min(limit, ranks.size())) {
      return fail(Errc::kBadData, "more than " + std::to_string(limit) + " ranks in a set");
    }
    for (std::int64_t rank = *first; rank <= *last; rank += *step) {
      ranks.push_back(static_cast<std::int32_t>(rank));
    }
  }
  return ranks;
}

std::vector<std::int32_t> ranks_of(std::string_view text, std::size_t limit) {
  return parse_rank_text(text, limit).value_or(std::vector<std::int32_t>());
}

}  // namespace oddrank::snapshot
