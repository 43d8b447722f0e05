#include "aggregate/flight/call_history.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kCallsInLine = 5;
constexpr std::size_t kMaxHistoryLines = 4;

std::string last_calls_words(const CallHistory& history) {
  const auto& calls = history.calls;
  const std::size_t shown = std::min(calls.size(), kCallsInLine);
  std::string text = shown < calls.size() || history.earlier ? "... " : "";
  for (std::size_t i = calls.size() - shown; i < calls.size(); ++i) {
    text += (i == calls.size() - shown ? "" : ", ") + history_call_words(calls[i]);
  }
  return text;
}

}  // namespace

std::string history_call_words(const HistoryCall& call) {
  const std::string peer =
      call.peer < 0 ? "" : fmt::format(" {} {}", call.op == "send" ? "to" : "from", call.peer);
  return fmt::format("{}{} {} #{}{}", call.op, peer, call.group, call.number,
                     call.open ? " (open)" : "");
}

std::vector<std::string> history_lines(const std::vector<CallHistory>& histories) {
  constexpr std::size_t kRanksWidth = 60;
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> told;
  std::vector<bool> named;
  for (const CallHistory& history : histories) {
    const std::string words = last_calls_words(history);
    std::size_t at = 0;
    while (at < told.size() && (told[at].first != words || named[at] != history.named)) {
      ++at;
    }
    if (at == told.size()) {
      told.emplace_back(words, std::vector<std::int32_t>());
      named.push_back(history.named);
    }
    auto& ranks = told[at].second;
    ranks.insert(ranks.end(), history.ranks.begin(), history.ranks.end());
  }
  std::vector<std::string> lines;
  for (auto& [words, ranks] : told) {
    if (lines.size() < kMaxHistoryLines) {
      std::sort(ranks.begin(), ranks.end());
      lines.push_back(fmt::format("{} {}: {}", ranks.size() == 1 ? "rank" : "ranks",
                                  format_ranks_within(ranks, kRanksWidth), words));
    }
  }
  return lines;
}

}  // namespace oddrank::aggregate
