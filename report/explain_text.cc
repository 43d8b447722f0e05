#include "report/explain_text.h"

#include <chrono>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/span_words.h"
#include "report/coverage_words.h"
#include "report/style.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kIndent = 6;

std::string fact_words(const aggregate::ExplainedFact& fact) {
  std::string words = fmt::format("{} wait{} for {}: {}", fact.who, are_many(fact.who) ? "" : "s",
                                  fact.waits_for, fact.on);
  if (fact.quiet_ms >= 1000) {
    words += ", for " + span_words(std::chrono::milliseconds(fact.quiet_ms));
  }
  words +=
      fmt::format(" [{}{}", aggregate::how_name(fact.how), fact.guess ? ", one of several" : "");
  return words + (fact.evidence.empty() ? "]" : ": " + fact.evidence + "]");
}

std::string cause_words(const aggregate::ExplainedCause& cause) {
  if (!cause.is_rank) {
    return cause.who + ": nothing shows that a member is missing there";
  }
  std::string words = cause.circle ? fmt::format("{}, in a circle{}", cause.who,
                                                 cause.closed ? "" : " with a way out")
                                   : cause.who;
  words += cause.waiters == 0 ? ": only a guess says that ranks need it"
                              : fmt::format(": {} need{} it", count_of(cause.waiters, "rank"),
                                            cause.waiters == 1 ? "s" : "");
  return words;
}

std::string section(const Style& style,
                    const std::string& title,
                    const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : title + '\n';
  for (const std::string& line : lines) {
    text += style.paragraph("  ", line, kIndent);
  }
  return text;
}

}  // namespace

std::string explain_text(const aggregate::Explanation& explanation, const TextOptions& options) {
  const Style style(options);
  std::vector<std::string> facts;
  for (const aggregate::ExplainedFact& fact : explanation.facts) {
    facts.push_back(fact_words(fact));
  }
  if (explanation.more_facts > 0) {
    facts.push_back(fmt::format("and {}", count_of(explanation.more_facts, "more fact")));
  }
  std::vector<std::string> blocked;
  for (const aggregate::ExplainedRanks& ranks : explanation.blocked) {
    blocked.push_back(fmt::format("{}: {}", ranks.who, ranks.blocked_on));
  }
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (const aggregate::ExplainedCause& cause : explanation.causes) {
    first.push_back(cause_words(cause));
    if (cause.is_rank) {
      second.push_back(cause.who + ": " + cause.pessimistic);
    }
  }
  return "\nHow it was found\n" + section(style, "Facts, and how each is known:", facts) +
         section(style, "How the ranks stand:", blocked) +
         section(style, "What nothing holds, if unknown holders are outside of the job:", first) +
         section(style, "If an unknown holder may be any rank that could be it:", second) +
         section(style, "Not used, or not enough:", explanation.not_used);
}

}  // namespace oddrank::report
