#include "aggregate/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Further culprits are only counted in the summary.
constexpr std::size_t kMaxCulprits = 64;

bool is_awaited(const RuleInput& input, std::size_t rank) {
  return input.graph.awaited[rank];
}

}  // namespace

RuleInput make_input(const JobView& view,
                     const WaitGraph& graph,
                     const std::vector<Group>& groups,
                     const FlightReport* flight) {
  RuleInput input{view, graph, groups, flight, {}, false, false, false, {}};
  std::size_t measured = 0;
  std::size_t moved = 0;
  for (const RankView& rank : view.ranks()) {
    measured += rank.motion.measured ? 1 : 0;
    moved += rank.motion.measured && !rank.motion.still() ? 1 : 0;
    input.anybody_in_call = input.anybody_in_call || (rank.leader != nullptr && rank.leader->call);
    input.unread = input.unread || rank.presence == Presence::kUnread ||
                   (rank.presence == Presence::kPartial && rank.state() != 'D');
  }
  input.all_move = measured > 0 && moved == measured;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const bool root = graph.awaited[at] && !graph.waits_for_rank[at] && !graph.opaque[at];
    // If no rank is in a call, each rank's own story counts, except for ranks that wait for
    // another.
    const bool alone = !input.anybody_in_call && view.ranks()[at].process != nullptr &&
                       (!graph.waits_for_rank[at] || graph.roots.empty());
    if (root || alone) {
      input.suspects.push_back(at);
    }
  }
  return input;
}

bool is_minority(const RuleInput& input,
                 std::size_t side,
                 std::size_t other_side,
                 const std::vector<std::size_t>& members) {
  const auto unread = std::count_if(members.begin(), members.end(), [&input](std::size_t at) {
    const Presence presence = input.view.ranks()[at].presence;
    return presence == Presence::kUnread || presence == Presence::kPartial;
  });
  return side + static_cast<std::size_t>(unread) < other_side;
}

bool waiters_stand_still(const RuleInput& input, std::size_t rank) {
  const auto [at, is_new] = input.still.try_emplace(input.graph.in[rank], true);
  if (!is_new) {
    return at->second;
  }
  std::size_t measured = 0;
  std::size_t still = 0;
  for (const std::size_t waiter : waiters_of(input.graph, rank)) {
    const Motion& motion = input.view.ranks()[waiter].motion;
    measured += motion.measured ? 1 : 0;
    still += motion.still() ? 1 : 0;
  }
  at->second = still * 2 > measured || measured == 0;
  return at->second;
}

Confidence judge(const RuleInput& input, std::size_t rank, Evidence evidence) {
  const RankView& view = input.view.ranks()[rank];
  const bool state = evidence == Evidence::kState;
  Confidence confidence =
      evidence == Evidence::kAbsence ? Confidence::kLikely : Confidence::kCertain;
  const auto at_most = [&confidence](Confidence limit) {
    confidence = std::min(confidence, limit);
  };
  if (!is_awaited(input, rank)) {
    at_most(evidence == Evidence::kAbsence ? Confidence::kNone : Confidence::kLikely);
  } else if (is_assumed(input.graph, rank)) {
    at_most(state ? Confidence::kLikely : Confidence::kPossible);
  }
  if (!state && !view.motion.measured) {
    at_most(Confidence::kPossible);
  }
  if (!state && view.motion.stack) {
    at_most(input.all_move ? Confidence::kNone : Confidence::kPossible);
  }
  if (!state && !waiters_stand_still(input, rank)) {
    at_most(Confidence::kNone);
  }
  if (input.unread) {
    at_most(evidence == Evidence::kAbsence ? Confidence::kPossible : Confidence::kLikely);
  }
  return confidence;
}

std::string ranks_words(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(ranks.size());
  for (const std::size_t at : ranks) {
    numbers.push_back(input.view.ranks()[at].rank);
  }
  const std::string set = format_ranks(numbers);
  if (set.empty()) {
    return ranks.size() == 1 ? "1 process" : fmt::format("{} processes", ranks.size());
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", set);
}

std::string sentence(const RuleInput& input,
                     const std::vector<std::size_t>& ranks,
                     const std::function<std::string(const RankView&)>& predicate) {
  const RankView& first = input.view.ranks()[ranks.front()];
  std::string text = fmt::format("{} {}", JobView::name(first), predicate(first));
  if (ranks.size() > 1) {
    const std::vector<std::size_t> others(ranks.begin() + 1, ranks.end());
    text += fmt::format("; likewise {}", ranks_words(input, others));
  }
  return text;
}

Finding accuse(const RuleInput& input,
               Kind kind,
               const std::vector<std::size_t>& ranks,
               Evidence evidence) {
  Finding finding;
  finding.kind = kind;
  finding.confidence = Confidence::kCertain;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.view.ranks()[at];
    finding.confidence = std::min(finding.confidence, judge(input, at, evidence));
    if (finding.culprits.size() < kMaxCulprits) {
      finding.culprits.push_back({rank.rank, rank.host, rank.pid(),
                                  rank.leader == nullptr ? 0 : rank.leader->tid,
                                  waits_for(input.view, rank)});
    }
  }
  finding.chain = is_awaited(input, ranks.front())
                      ? chain_to(input.view, input.graph, ranks.front())
                      : chain_from(input.view, input.graph, ranks.front());
  finding.awaited = is_awaited(input, ranks.front());
  finding.weight =
      row_of(kind).precedence.weight +
      static_cast<int>(std::min<std::size_t>(waiters_of(input.graph, ranks.front()).size(), 1000));
  return finding;
}

std::string on_host(const RankView& rank) {
  return rank.host.empty() ? std::string() : fmt::format("on {}: ", rank.host);
}

std::string awaited_words(const RuleInput& input, std::size_t rank) {
  const std::size_t waiters = waiters_of(input.graph, rank).size();
  if (waiters == 0) {
    return {};
  }
  for (const Slot& slot : input.graph.slots) {
    if (std::find(slot.absent.begin(), slot.absent.end(), rank) != slot.absent.end()) {
      return fmt::format(
          "{} in {}",
          waiters == 1 ? "1 rank waits for it" : fmt::format("{} ranks wait for it", waiters),
          slot.words);
    }
  }
  return waiters == 1 ? "1 rank waits for it" : fmt::format("{} ranks wait for it", waiters);
}

}  // namespace oddrank::aggregate
