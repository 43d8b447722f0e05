// Ranks wait for each other in a circle: through two groups that they entered in different order
// (collective_order), or through sends and receives that cross (p2p_order).
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/flight/flight_history.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_out.h"
#include "aggregate/rules/left_pattern.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

std::set<std::string> groups_of(const Circle& circle) {
  std::set<std::string> groups;
  for (const Slot* slot : circle.slots) {
    groups.insert(slot->group);
  }
  return groups;
}

bool is_member(const Slot& slot, std::size_t rank) {
  for (const auto* ranks : {&slot.inside, &slot.beside, &slot.absent, &slot.unclear}) {
    if (std::find(ranks->begin(), ranks->end(), rank) != ranks->end()) {
      return true;
    }
  }
  return false;
}

// Returns the ranks of the cycle that deviate from what most of its ranks do. Only ranks that
// belong to all of its groups show in which order these are entered. If no order has the majority,
// returns all. Returns none if the members of a rooted call may have done their part and gone on.
std::vector<std::size_t> deviating(const Circle& cycle) {
  std::map<const Slot*, std::vector<std::size_t>> sides;
  for (const Slot* slot : cycle.slots) {
    if (may_be_over_for_some(*slot)) {
      return {};
    }
    for (const std::size_t at : slot->inside) {
      const bool in_cycle = std::binary_search(cycle.ranks.begin(), cycle.ranks.end(), at);
      const bool in_all = std::all_of(cycle.slots.begin(), cycle.slots.end(),
                                      [at](const Slot* other) { return is_member(*other, at); });
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
  std::sort(result.begin(), result.end());
  return result.empty() ? cycle.ranks : result;
}

// Returns whether all these ranks are past what repeats in their calls: they have left out the call
// that the others wait in, rather than entered two groups in another order.
bool are_past(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return recorded_beside(input) && std::all_of(ranks.begin(), ranks.end(), [&](std::size_t at) {
           return is_past_pattern(input.flight->job, input.view.ranks()[at].rank);
         });
}

// Returns whether each rank of the circle is in a collective with a number. It is then a circle
// even if the ranks were read at different times: none of these calls could end in between.
bool all_numbered(const Circle& cycle) {
  return !cycle.slots.empty() && std::all_of(cycle.slots.begin(), cycle.slots.end(),
                                             [](const Slot* slot) { return slot->sequence >= 0; });
}

}  // namespace

std::vector<Finding> order_cycle(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Circle& cycle : input.blame.circles) {
    if (!cycle.closed || !cycle.certain) {
      continue;
    }
    const std::set<std::string> groups = groups_of(cycle);
    const bool all_in_calls =
        std::all_of(cycle.ranks.begin(), cycle.ranks.end(), [&input](std::size_t at) {
          return input.view.ranks()[at].leader != nullptr && input.view.ranks()[at].leader->call;
        });
    // One group alone: skipped or mismatched. Processes in the circle, or transfers and
    // collectives: resource_cycle.
    const bool transfers = std::any_of(cycle.ranks.begin(), cycle.ranks.end(), [&input](auto at) {
      const auto* leader = input.view.ranks()[at].leader;
      return leader != nullptr && leader->call && leader->call->peer >= 0;
    });
    if (auto left_out = all_in_calls ? left_out_transfer(input, cycle.ranks) : std::nullopt) {
      findings.push_back(std::move(*left_out));
      continue;
    }
    if (cycle.ranks.size() < 2 || groups.size() == 1 || !all_in_calls ||
        (transfers && !groups.empty()) || any_moved(input, cycle.ranks)) {
      continue;
    }
    const bool p2p = groups.empty();
    if (waits_for_several(input, cycle.ranks)) {
      continue;  // some of these ranks may only wait for those of the circle
    }
    std::vector<std::size_t> ranks = p2p ? cycle.ranks : deviating(cycle);
    const std::vector<std::size_t> cuts =
        p2p ? std::vector<std::size_t>() : cuts_of(input.graph, cycle);
    // Where no side has the majority, each rank's own past may tell.
    const bool undecided = ranks == cycle.ranks;
    const std::vector<std::size_t> strayed =
        undecided ? left_their_pattern(input, cycle.ranks) : std::vector<std::size_t>();
    const bool by_cut = undecided && strayed.empty() && !cuts.empty();
    if (!strayed.empty()) {
      ranks = strayed;
    } else if (by_cut) {
      ranks = cuts;
    }
    if (ranks.empty()) {
      continue;
    }
    const bool skipped = !p2p && ranks.size() < cycle.ranks.size() && are_past(input, ranks);
    const Kind kind = p2p       ? Kind::kP2pOrder
                      : skipped ? Kind::kSkippedCollective
                                : Kind::kCollectiveOrder;
    Finding finding =
        accuse(input, kind, ranks, all_numbered(cycle) ? Evidence::kNumbers : Evidence::kOwnStall);
    finding.confidence = std::min(finding.confidence, same_calls(input, cycle.ranks));
    if (finding.confidence == Confidence::kNone) {
      continue;
    }
    finding.summary =
        fmt::format("{} wait for each other in a circle: {}", ranks_words(input, cycle.ranks),
                    sides_words(input, cycle.ranks, {}, [&input](auto at) {
                      return "in " + call_at_words(input, input.view.ranks()[at]);
                    }));
    if (!strayed.empty()) {
      finding.confidence = std::min(finding.confidence, Confidence::kLikely);
      finding.summary += pattern_words(input, ranks);
    } else if (by_cut && ranks.size() < cycle.ranks.size()) {
      finding.confidence = std::min(finding.confidence, Confidence::kLikely);
      finding.summary +=
          fmt::format("; every way round leads through {}", ranks_words(input, ranks));
    }
    if (recorded_beside(input)) {
      finding.history = histories_of(input.flight->job, numbers_of(finding.culprits));
    }
    if (skipped) {
      finding.summary = fmt::format("{} left the calls that repeat before the others did: {}",
                                    ranks_words(input, ranks), finding.summary);
    }
    finding.advice = {p2p       ? "use batch_isend_irecv, or let one side receive before it sends"
                      : skipped ? "look for a branch or a loop of another length on these ranks"
                                : "enter the groups in one order on all ranks"};
    finding.disproves = {"one of these calls returning"};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
