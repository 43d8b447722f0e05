// Ranks wait for each other in a circle: through two groups that they entered in different order
// (collective_order), or through sends and receives that cross (p2p_order).
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate/flight/flight_history.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_pattern.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

std::set<std::string> groups_of(const Circle& circle) {
  std::set<std::string> groups;
  for (const Slot* slot : circle.slots) {
    if (!is_transfer(slot->kind)) {
      groups.insert(slot->group);
    }
  }
  return groups;
}

bool is_member(const Slot& slot, std::size_t rank) {
  for (const auto* ranks : {&slot.inside, &slot.beside, &slot.absent, &slot.unclear}) {
    if (std::ranges::find(*ranks, rank) != ranks->end()) {
      return true;
    }
  }
  return false;
}

// Returns the ranks of the cycle that deviate from most others. Only ranks that belong to all of
// its groups show the order in which these are entered. If no order has the majority, returns all.
// Returns none if the members of a rooted call may have done their part and gone on.
std::vector<std::size_t> deviating(const Circle& cycle) {
  std::map<const Slot*, std::vector<std::size_t>> sides;
  for (const Slot* slot : cycle.slots) {
    if (may_be_over_for_some(*slot)) {
      return {};
    }
    for (const std::size_t at : slot->inside) {
      const bool in_cycle = std::ranges::binary_search(cycle.ranks, at);
      const bool in_all = std::ranges::all_of(
          cycle.slots, [at](const Slot* other) { return is_member(*other, at); });
      if (in_cycle && in_all) {
        sides[slot].push_back(at);
      }
    }
  }
  std::size_t most = 0;
  std::size_t voters = 0;
  const Slot* majority = nullptr;
  for (const auto& [slot, ranks] : sides) {
    voters += ranks.size();
    if (ranks.size() > most) {
      most = ranks.size();
      majority = slot;
    }
  }
  if (most * 2 <= voters) {
    return cycle.ranks;
  }
  std::vector<std::size_t> result;
  for (const auto& [slot, ranks] : sides) {
    if (slot != majority) {
      result.insert(result.end(), ranks.begin(), ranks.end());
    }
  }
  std::ranges::sort(result);
  return result.empty() ? cycle.ranks : result;
}

// Returns whether all these ranks are past what repeats in their calls: they have left out the call
// that the others wait in, rather than entered two groups in another order. That rests on the
// places of calls, which not all dumps have.
bool are_past(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  const FlightJob* job = input.view.only_recorded() ? nullptr : input.recorded();
  return job != nullptr && std::ranges::all_of(input.view.numbers_of(ranks), [job](auto rank) {
           return is_past_pattern(*job, rank);
         });
}

// Returns whether each rank of the circle is in a collective with a number. It is then a circle
// even if the ranks were read at different times: none of these calls could end in between.
bool all_numbered(const Circle& cycle) {
  return !cycle.slots.empty() &&
         std::ranges::all_of(cycle.slots, [](const Slot* slot) { return slot->sequence >= 0; });
}

// Returns whether the rank is in a call; a recorder alone shows only calls.
bool in_a_call(const RankView& rank) {
  return rank.presence == Presence::kRecorded || (rank.decider != nullptr && rank.decider->call);
}

// Returns which ranks deviate: by the calls that they are in (then `how` is empty); without a
// majority, by each rank's own past, the common order of all ranks' calls, or the ranks that every
// way round leads through.
Deviation deviation_of(const RuleInput& input, const Circle& cycle, bool p2p) {
  Deviation found{p2p ? cycle.ranks : deviating(cycle), {}};
  if (found.ranks != cycle.ranks) {
    return found;
  }
  if (auto left = left_their_pattern(input, cycle.ranks); !left.ranks.empty()) {
    return left;
  }
  if (p2p) {
    return found;
  }
  if (auto left = left_common_order(input, cycle.ranks); !left.ranks.empty()) {
    return left;
  }
  if (auto cuts = on_every_way(input, cycle); !cuts.ranks.empty()) {
    return cuts;
  }
  return found;
}

// Returns "rank 0 in send to rank 1, rank 1 in recv from rank 0".
std::string calls_of(const RuleInput& input, const Circle& cycle) {
  return sides_words(input, cycle.ranks, {},
                     [&input](auto at) { return "in " + call_at_words(input, input.rank(at)); });
}

// Tells of two ranks that stand in a send and a receive for each other: these do not match.
void tell_unmatched(const RuleInput& input, const Circle& cycle, Finding& finding) {
  const auto call_of = [&](std::size_t at) -> const snapshot::CollectiveCall& {
    return *input.rank(at).decider->call;
  };
  const snapshot::CollectiveCall& one = call_of(cycle.ranks.front());
  const snapshot::CollectiveCall& other = call_of(cycle.ranks.back());
  if (cycle.ranks.size() != 2 || one.kind == other.kind) {
    return;
  }
  if (!tags_differ(one, other)) {
    finding.at_most(Confidence::kLikely);
  }
  finding.summary =
      fmt::format("{} stand in a send and a receive for each other, which do not match: {}",
                  ranks_words(input, cycle.ranks), calls_of(input, cycle));
  finding.advice = {"compare tag, size and number of the sends and receives of both ranks"};
}

std::optional<Finding> order_finding(const RuleInput& input, const Circle& cycle, bool p2p) {
  const Deviation found = deviation_of(input, cycle, p2p);
  if (found.ranks.empty()) {
    return std::nullopt;
  }
  const bool some = found.ranks.size() < cycle.ranks.size();
  const bool skipped = !p2p && some && are_past(input, found.ranks);
  const Kind kind = p2p       ? Kind::kP2pOrder
                    : skipped ? Kind::kSkippedCollective
                              : Kind::kCollectiveOrder;
  Finding finding = accuse(input, kind, found.ranks,
                           all_numbered(cycle) ? Evidence::kNumbers : Evidence::kOwnStall);
  // A recorded call may be under way while its rank stands elsewhere.
  finding.at_most(input.view.only_recorded() ? Confidence::kLikely
                                             : same_calls(input, cycle.ranks));
  finding.summary = fmt::format("{} wait for each other in a circle: {}",
                                ranks_words(input, cycle.ranks), calls_of(input, cycle));
  if (!found.how.empty()) {
    finding.at_most(Confidence::kLikely);
    finding.summary += found.how;
  }
  if (const FlightJob* job = input.recorded()) {
    finding.history = histories_of(*job, numbers_of(finding.culprits));
  }
  if (skipped) {
    finding.summary = fmt::format("{} left the calls that repeat before the others did: {}",
                                  ranks_words(input, found.ranks), finding.summary);
  }
  const auto* first = input.rank(cycle.ranks.front()).decider;
  const bool of_windows = first != nullptr && first->call->wants_window >= 0;
  finding.advice = {of_windows ? "lock a window's ranks in one order everywhere"
                    : p2p      ? "use batch_isend_irecv, or let one side receive before it sends"
                    : skipped  ? "look for a branch or a loop of another length on these ranks"
                               : "enter the groups in one order on all ranks"};
  if (p2p && !input.view.only_recorded()) {
    tell_unmatched(input, cycle, finding);
  }
  finding.disproves = {"one of these calls returning"};
  return finding;
}

}  // namespace

std::vector<Finding> order_cycle(const RuleInput& input) {
  std::vector<Finding> findings;
  const auto& ranks = input.view.ranks();
  for (const Circle& cycle : input.blame.circles) {
    const bool all_in_calls = std::ranges::all_of(
        cycle.ranks, [&](auto at) { return in_a_call(ranks[at]) && cycle.has_speaker(at); });
    if (!cycle.closed || !cycle.certain || !all_in_calls) {
      continue;
    }
    if (auto left_out = left_out_transfer(input, cycle.ranks)) {
      findings.push_back(std::move(*left_out));
      continue;
    }
    // One group alone: skipped or mismatched. Transfers and collectives: resource_cycle.
    const std::set<std::string> groups = groups_of(cycle);
    const bool transfers =
        std::ranges::any_of(cycle.slots,
                            [](const Slot* slot) { return is_transfer(slot->kind); }) ||
        std::ranges::any_of(cycle.ranks, [&](auto at) {
          return ranks[at].decider != nullptr && ranks[at].decider->call->peer >= 0;
        });
    if (cycle.ranks.size() < 2 || groups.size() == 1 || (transfers && !groups.empty()) ||
        any_moved(input, cycle.ranks) || waits_for_several(input, cycle.ranks)) {
      continue;  // of a receive from any, it is not known which side left something out
    }
    if (auto finding = order_finding(input, cycle, groups.empty())) {
      findings.push_back(std::move(*finding));
    }
  }
  return findings;
}

}  // namespace oddrank::aggregate
