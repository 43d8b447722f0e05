#include "aggregate/verdict_engine.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxAlternatives = 4;

bool is_same(const Culprit& a, const Culprit& b) {
  return a.rank == b.rank && a.host == b.host && a.pid == b.pid;
}

bool same_culprits(const Finding& a, const Finding& b) {
  return std::equal(a.culprits.begin(), a.culprits.end(), b.culprits.begin(), b.culprits.end(),
                    is_same);
}

bool share_culprits(const Finding& a, const Finding& b) {
  return std::find_first_of(a.culprits.begin(), a.culprits.end(), b.culprits.begin(),
                            b.culprits.end(), is_same) != a.culprits.end();
}

bool wins(const Finding& a, const Finding& b) {
  const auto worth = [](const Finding& finding) {
    const KindRow& row = row_of(finding.kind);
    return std::tuple(finding.basis, finding.explains, finding.confidence, !row.place_only);
  };
  return worth(a) > worth(b);
}

// Returns whether a rank of the other finding is in a circle with a rank of the first one: then
// both are one story. (Except that a process of a rank holds others up whatever the rank waits
// for.)
bool is_within(const RuleInput& input, const Finding& first, const Finding& other) {
  const auto named_by = [&input](const Finding& finding) {
    return
        [&input, &finding](std::size_t at) { return is_named(input.rank(at), finding.culprits); };
  };
  return std::ranges::any_of(input.blame.circles, [&](const Circle& circle) {
    std::vector<std::size_t> ranks = circle.ranks;
    const bool has_first = std::ranges::any_of(ranks, named_by(first));
    std::erase_if(ranks, [&input](std::size_t at) { return input.blame.by_part.contains(at); });
    return has_first && std::ranges::any_of(ranks, named_by(other));
  });
}

// Returns whether the job is held up by this finding, too, whatever becomes of the first one.
bool is_independent(const RuleInput& input, const Finding& first, const Finding& other) {
  const bool firm = other.basis == Basis::kRoot || other.basis == Basis::kVague;
  return firm && first.basis == Basis::kRoot && other.explains > 0 &&
         (!other.culprits.empty() || !other.links.empty()) && !share_culprits(first, other) &&
         !is_within(input, first, other);
}

// Returns whether the finding is no alternative, but the same answer from other evidence; for
// evidence from another source, a note says it.
bool says_the_same(const Finding& first, const Finding& other) {
  return other.kind == first.kind && !other.culprits.empty() && same_culprits(first, other);
}

std::string why_not(const Finding& winner, const Finding& loser) {
  std::string reason;
  if (row_of(winner.kind).progress == Progress::kMoves) {
    reason = "the job moves";
  } else if (!winner.culprits.empty() && same_culprits(winner, loser)) {
    reason = "the same rank; " + std::string(kind_name(winner.kind)) + " explains more of it";
  } else if (winner.confidence > loser.confidence) {
    reason = "less sure (" + std::string(confidence_name(loser.confidence)) + ")";
  } else if (loser.explains == 0) {
    reason = "nobody is seen to wait for it";
  } else {
    reason = "explains less";
  }
  return loser.weakness.empty() ? reason : reason + ": " + loser.weakness;
}

}  // namespace

Verdict decide(const RuleInput& input) {
  std::vector<Finding> findings;
  const auto keep = [&findings](std::vector<Finding> found) {
    for (Finding& finding : found) {
      if (finding.confidence != Confidence::kNone || finding.kind == Kind::kUnknown) {
        findings.push_back(std::move(finding));
      }
    }
  };
  for (const Suspects& suspects : input.tiers) {
    RuleInput about_these = with_suspects(input, suspects);
    for (const KindRow& row : kKinds) {
      keep(ask(row, about_these));
    }
  }
  const RuleInput about_all = with_suspects(input, {Basis::kRoot, {}});
  for (const Rule rule : job_rules()) {
    std::vector<Finding> found = rule(about_all);
    for (Finding& finding : found) {
      finding.basis = row_of(finding.kind).basis;
    }
    keep(std::move(found));
  }
  std::ranges::stable_sort(findings, wins);
  const Finding& best = findings.front();  // `unknown` is always there
  Verdict verdict = static_cast<const Verdict&>(best);
  for (std::size_t at = 1; at < findings.size(); ++at) {
    const Finding& other = findings[at];
    if (is_independent(input, best, other)) {
      verdict.also.push_back({other.kind, other.confidence, other.summary, other.culprits});
    } else if (other.kind != Kind::kUnknown && !says_the_same(best, other) &&
               verdict.alternatives.size() < kMaxAlternatives) {
      verdict.alternatives.push_back({other.kind, other.summary, why_not(best, other)});
    }
  }
  if (input.young() && row_of(best.kind).progress != Progress::kMoves) {
    const std::string age =
        input.may_be_older
            ? "waiting ranks wake again and again, so how old the waits are is not known"
            : fmt::format("the waits are young, {:.1f} s",
                          static_cast<double>(input.oldest_wait_ms) / 1000);
    verdict.summary += fmt::format(" ({}: the job may only be slow)", age);
  }
  return verdict;
}

}  // namespace oddrank::aggregate
