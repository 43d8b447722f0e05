#include "report/call_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/few_notes.h"
#include "base/printable.h"

namespace oddrank::report {
namespace {

std::string last_calls_words(const aggregate::CallHistory& history) {
  constexpr std::size_t kCallsInLine = 5;
  const auto& calls = history.calls;
  const std::size_t first = calls.size() - std::min(calls.size(), kCallsInLine);
  std::string text = first > 0 || history.earlier ? "... " : "";
  for (std::size_t i = first; i < calls.size(); ++i) {
    const aggregate::HistoryCall& call = calls[i];
    const std::string peer =
        call.peer < 0 ? "" : fmt::format(" {} {}", call.op == "send" ? "to" : "from", call.peer);
    text += fmt::format("{}{}{} {} #{}{}", i == first ? "" : ", ", call.op, peer, call.group,
                        call.number, call.open ? " (open)" : "");
  }
  return text;
}

// Returns "rank 3 is at call 7, ranks 0-2 at call 8".
std::string places_words(const std::map<std::int64_t, std::vector<std::int32_t>>& ranks_at,
                         std::string_view where) {
  constexpr std::size_t kMaxSkewParts = 8;
  std::string words;
  std::size_t parts = 0;
  std::size_t left = 0;
  for (const auto& [place, ranks] : ranks_at) {
    if (parts == kMaxSkewParts) {
      left += ranks.size();
      continue;
    }
    ++parts;
    const bool one = ranks.size() == 1;
    const std::string_view verb = parts > 1 ? "" : one ? " is" : " are";
    words += fmt::format("{}rank{} {}{} {} {}", parts > 1 ? ", " : "", one ? "" : "s",
                         aggregate::format_ranks(ranks), verb, where, place);
  }
  return left == 0 ? words : fmt::format("{}, and {}", words, count_of(left, "more rank"));
}

}  // namespace

std::vector<std::string> history_lines(const std::vector<aggregate::CallHistory>& histories) {
  constexpr std::size_t kMaxHistoryLines = 4;
  struct Line {
    bool named = false;
    std::string words;
    std::vector<std::int32_t> ranks;
  };
  std::vector<Line> rows;
  for (const aggregate::CallHistory& history : histories) {
    const std::string words = last_calls_words(history);
    auto at = std::find_if(rows.begin(), rows.end(), [&](const Line& line) {
      return line.named == history.named && line.words == words;
    });
    at = at == rows.end() ? rows.insert(at, {history.named, words, {}}) : at;
    at->ranks.insert(at->ranks.end(), history.ranks.begin(), history.ranks.end());
  }
  rows.resize(std::min(rows.size(), kMaxHistoryLines));
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const Line& line : rows) {
    lines.push_back(aggregate::ranks_in_short(line.ranks) + ": " + line.words);
  }
  return lines;
}

std::string step_words(const aggregate::RankStep& step) {
  const auto behind = static_cast<std::size_t>(step.behind);
  return fmt::format("about step {} by its own calls{}", step.step,
                     behind == 0 ? "" : ", " + count_of(behind, "step") + " behind");
}

std::vector<std::string> skew_lines(const std::vector<aggregate::RankStep>& steps) {
  constexpr std::size_t kMaxSkewLines = 4;
  using Counted = std::tuple<std::string, bool, std::int64_t>;
  std::map<Counted, std::map<std::int64_t, std::vector<std::int32_t>>> all;
  for (const aggregate::RankStep& row : steps) {
    all[{row.group, row.transfers, row.transfers ? 0 : row.calls}]
       [row.transfers ? row.step : row.newest]
           .push_back(row.rank);
  }
  FewNotes lines(kMaxSkewLines, "steps");
  for (const auto& [counted, ranks_at] : all) {
    if (ranks_at.size() < 2) {
      continue;
    }
    const auto& [group, transfers, calls] = counted;
    const std::string line = places_words(ranks_at, transfers ? "in step" : "at call");
    const std::int64_t step = (ranks_at.rbegin()->first - 1) / std::max<std::int64_t>(calls, 1) + 1;
    lines.add(transfers
                  ? fmt::format("{}, by their sends and receives in {}", line, group)
                  : fmt::format("{} of {} ({} a step: about step {})", line, group, calls, step));
  }
  return lines.take();
}

}  // namespace oddrank::report
