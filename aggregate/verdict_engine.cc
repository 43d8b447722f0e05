#include "aggregate/verdict_engine.h"

#include <algorithm>
#include <tuple>

#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxAlternatives = 4;

bool wins(const Finding& a, const Finding& b) {
  const auto worth = [](const Finding& finding) {
    const Precedence& precedence = row_of(finding.kind).precedence;
    const int level = finding.confidence >= precedence.from ? precedence.level : 0;
    return std::tuple(level, finding.confidence, finding.awaited, finding.weight);
  };
  return worth(a) > worth(b);
}

bool same_culprits(const Finding& a, const Finding& b) {
  return a.culprits.size() == b.culprits.size() &&
         std::equal(a.culprits.begin(), a.culprits.end(), b.culprits.begin(),
                    [](const Culprit& x, const Culprit& y) {
                      return x.rank == y.rank && x.host == y.host && x.pid == y.pid;
                    });
}

std::string why_not(const Finding& winner, const Finding& loser) {
  std::string reason;
  if (row_of(winner.kind).pace == Pace::kMoves) {
    reason = "the job moves";
  } else if (!winner.culprits.empty() && same_culprits(winner, loser)) {
    reason = "the same rank; " + std::string(kind_name(winner.kind)) + " explains more of it";
  } else if (winner.confidence > loser.confidence) {
    reason = "less sure (" + std::string(confidence_name(loser.confidence)) + ")";
  } else if (winner.awaited && !loser.awaited) {
    reason = "nobody is seen to wait for it";
  } else {
    reason = "explains less";
  }
  return loser.weakness.empty() ? reason : reason + ": " + loser.weakness;
}

}  // namespace

Verdict decide(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Rule rule : all_rules()) {
    for (Finding& finding : rule(input)) {
      if (finding.confidence != Confidence::kNone || finding.kind == Kind::kUnknown) {
        findings.push_back(std::move(finding));
      }
    }
  }
  std::stable_sort(findings.begin(), findings.end(), wins);
  Finding& best = findings.front();  // `unknown` is always there
  Verdict verdict;
  for (std::size_t at = 1; at < findings.size(); ++at) {
    const Finding& other = findings[at];
    if (other.kind != Kind::kUnknown && verdict.alternatives.size() < kMaxAlternatives) {
      verdict.alternatives.push_back({other.kind, other.summary, why_not(best, other)});
    }
  }
  verdict.kind = best.kind;
  verdict.confidence = best.confidence;
  verdict.summary = std::move(best.summary);
  verdict.culprits = std::move(best.culprits);
  verdict.chain = std::move(best.chain);
  verdict.advice = std::move(best.advice);
  verdict.disproves = std::move(best.disproves);
  return verdict;
}

}  // namespace oddrank::aggregate
