// Ranks of one group are at the same sequence number with different operations, or with different
// calls in their flight recorders (docs/flight-recorder.md): stacks show neither sizes nor earlier
// calls. The smaller side deviates; on a tie both are named. If there are two sides, members that
// have not come yet belong to the side that they do not wait for elsewhere: a rank that is awaited
// in an earlier call has left that call out. If only the root differs, members that have gone on
// are added to a side: a variable with the root on all ranks that are still there mostly has it on
// them, too.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_pattern.h"
#include "aggregate/view/loop_work.h"
#include "aggregate/view/plain_locals.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

// Returns the largest slot that the rank is not in; there is one.
const Slot& slot_without(const RuleInput& input,
                         const std::vector<const Slot*>& slots,
                         const RankView& rank) {
  const std::size_t at = input.view.index_of(rank);
  const bool in_first = std::ranges::binary_search(slots[0]->inside, at);
  return in_first ? *slots[1] : *slots[0];
}

struct NumberSide {
  const Slot* slot = nullptr;
  std::vector<std::size_t> with_it;  // members that wait elsewhere for the other side, and only it
  std::vector<std::size_t> gone_on;  // members in a later call, with this root

  std::size_t weight() const { return slot->inside.size() + with_it.size() + gone_on.size(); }
};

// Returns the distance of each rank to `side`, by waits that do not lead through a call at this
// number; kFar: it does not wait for it elsewhere.
std::vector<std::size_t> distances_elsewhere(const WaitGraph& graph,
                                             const Slot& side,
                                             const std::vector<const Slot*>& at_number) {
  Adjacency in = graph.in;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const bool is_here =
        graph.nodes[node].kind == NodeKind::kSlot &&
        std::ranges::find(at_number, &graph.slots[graph.nodes[node].index]) != at_number.end();
    if (is_here) {
      in[node].clear();
    }
  }
  return distances(in, side.inside);
}

using Numbers = std::map<Variable, std::int64_t>;

Numbers variables_of(PlainLocals& locals, const RankView& rank) {
  Numbers numbers;
  for (const PlainLocal& local : locals.of(rank)) {
    if (const auto number = locals.number_of(local)) {
      numbers.emplace(locals.variable_of(local), *number);
    }
  }
  return numbers;
}

// Returns the variables that have the root on all ranks of all sides.
std::set<Variable> root_variables(PlainLocals& locals,
                                  const RuleInput& input,
                                  const std::vector<NumberSide>& sides) {
  std::map<Variable, std::size_t> ranks_with;
  std::size_t ranks = 0;
  for (const NumberSide& side : sides) {
    for (const std::size_t at : side.slot->inside) {
      ++ranks;
      for (const auto& [variable, number] : variables_of(locals, input.rank(at))) {
        ranks_with[variable] += number == side.slot->root ? 1 : 0;
      }
    }
  }
  std::set<Variable> roots;
  for (const auto& [variable, count] : ranks_with) {
    if (count == ranks) {
      roots.insert(variable);
    }
  }
  return roots;
}

// Adds to sides of different roots the members that are in a later call of the group.
void add_gone_on(const RuleInput& input, std::vector<NumberSide>& sides) {
  const Slot& first = *sides.front().slot;
  PlainLocals locals(input.view);
  const std::set<Variable> roots = root_variables(locals, input, sides);
  const auto side_of = [&](std::size_t at) {
    std::set<std::int64_t> given;
    for (const auto& [variable, number] : variables_of(locals, input.rank(at))) {
      if (roots.contains(variable)) {
        given.insert(number);
      }
    }
    return std::ranges::find_if(sides, [&given](const NumberSide& one) {
      return given == std::set{std::int64_t{one.slot->root}};
    });
  };
  for (const Slot& later : input.graph.slots) {
    if (roots.empty() || later.group != first.group || later.sequence <= first.sequence) {
      continue;
    }
    for (const std::size_t at : later.inside) {
      if (const auto side = side_of(at); side != sides.end()) {
        side->gone_on.push_back(at);
      }
    }
  }
}

// Returns the sides, the heaviest first.
std::vector<NumberSide> sides_of(const RuleInput& input, const std::vector<const Slot*>& slots) {
  const WaitGraph& graph = input.graph;
  std::vector<NumberSide> sides;
  sides.reserve(slots.size());
  for (const Slot* slot : slots) {
    sides.push_back({slot, {}, {}});
  }
  if (sides.size() == 2) {
    const auto to_first = distances_elsewhere(graph, *slots[0], slots);
    const auto to_second = distances_elsewhere(graph, *slots[1], slots);
    for (const std::size_t at : slots[0]->absent) {
      const bool for_first = to_first[at] != kFar;
      const bool for_second = to_second[at] != kFar;
      if (for_first != for_second && !std::ranges::binary_search(slots[1]->inside, at)) {
        sides[for_first ? 1 : 0].with_it.push_back(at);
      }
    }
  }
  if (std::ranges::all_of(slots, [](const Slot* slot) { return slot->root >= 0; })) {
    add_gone_on(input, sides);
  }
  std::ranges::stable_sort(
      sides, [](const NumberSide& a, const NumberSide& b) { return a.weight() > b.weight(); });
  return sides;
}

// Says so if one of two ranks has left a loop of the program that the other one is in: the end of
// the loop explains more than their calls.
void tell_loop(const RuleInput& input, std::size_t one, std::size_t other, Finding& finding) {
  auto loop = left_loop(input.view, input.rank(one), input.rank(other));
  const std::size_t outside = loop ? one : other;
  if (!loop) {
    loop = left_loop(input.view, input.rank(other), input.rank(one));
  }
  if (loop) {
    finding.summary +=
        fmt::format("; {} has left the loop around {}", ranks_words(input, {outside}), loop->place);
    finding.advice = {fmt::format(
        "compare what ends the loop around {} on these ranks, and the calls that they make in it",
        loop->place)};
  }
}

// A dump may be old: beside stacks, only one of this very hang counts, for `likely` at most. Calls
// that were read from memory beside the stacks are not from another time: if they differ, and the
// ranks stood still, that is `certain`.
Finding recorded_finding(const RuleInput& input,
                         const FlightMismatch& mismatch,
                         const std::vector<std::size_t>& ranks) {
  const FlightFacts& facts = *input.view.flight();
  const bool alone = input.view.only_recorded();
  const bool of_this_hang = alone || is_from_memory(facts);
  const bool of_cores = input.view.capture().job.source == snapshot::JobSource::kCore;
  Finding finding;
  finding.kind = mismatch.skipped ? Kind::kSkippedCollective : Kind::kMismatchedCollective;
  finding.confidence = mismatch.tie ? Confidence::kLikely : Confidence::kCertain;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    if (!of_this_hang || input.unread || (!of_cores && !alone && !rank.motion.still())) {
      finding.at_most(Confidence::kLikely);
    }
    finding.culprits.push_back(culprit_of(input.view, rank));
  }
  finding.explains = waiters_of(input.graph, ranks.front()).size();
  finding.summary = std::string(alone          ? ""
                                : of_this_hang ? "by the recorded calls, "
                                               : "by the flight recorders ") +
                    mismatch_words(facts.job, mismatch);
  finding.history = histories_of(facts.job, numbers_of(finding.culprits));
  finding.advice = {
      "compare the calls on both sides: a branch that only some ranks take, or tensors of other "
      "sizes"};
  finding.disproves = {"one call at this number on all ranks"};
  finding.weakness = "a recorder does not know what a rank does outside of collectives";
  return finding;
}

// A rank that has not made a call is no finding here, but a fact of the wait graph.
std::vector<Finding> from_records(const RuleInput& input) {
  std::vector<Finding> findings;
  if (!is_current(input.view)) {
    return findings;
  }
  for (const FlightMismatch& mismatch : input.view.flight()->mismatches) {
    const std::vector<std::int32_t> numbers = mismatch.deviating();
    const std::vector<std::size_t> ranks = input.view.indices_of(numbers);
    if (ranks.size() < numbers.size()) {
      continue;
    }
    const std::vector<std::size_t> deviating =
        mismatch.tie ? left_their_pattern(input, ranks).ranks : std::vector<std::size_t>();
    findings.push_back(recorded_finding(input, mismatch, deviating.empty() ? ranks : deviating));
  }
  return findings;
}

// Returns how sure it is that the ranks with fewer on their side are wrong.
Confidence mismatch_confidence(const std::vector<NumberSide>& sides, bool tie) {
  const bool any_elsewhere =
      std::ranges::any_of(sides, [](const NumberSide& side) { return !side.with_it.empty(); });
  return !sides.front().gone_on.empty() || (tie && any_elsewhere) ? Confidence::kPossible
         : tie || any_elsewhere                                   ? Confidence::kLikely
                                                                  : Confidence::kCertain;
}

// Returns what else is known about the side with most ranks: which of them wait elsewhere for
// `ranks`, and which have made the call; "" if none has.
std::string majority_words(const RuleInput& input,
                           const NumberSide& most,
                           const std::vector<std::size_t>& ranks) {
  std::string words;
  if (!most.with_it.empty()) {
    const bool one = most.with_it.size() == 1;
    words += fmt::format("; {}, which {} not come to it, {} for {} elsewhere",
                         ranks_words(input, most.with_it), one ? "has" : "have",
                         one ? "waits" : "wait", ranks_words(input, ranks));
  }
  if (!most.gone_on.empty()) {
    words += fmt::format("; {} {} gone on with root {}", ranks_words(input, most.gone_on),
                         most.gone_on.size() == 1 ? "has" : "have", most.slot->root);
  }
  return words;
}

// Returns the finding about the calls at one number of a group; none if it cannot tell a side that
// is wrong.
std::optional<Finding> mismatch_at(const RuleInput& input, const std::vector<const Slot*>& slots) {
  const std::vector<NumberSide> sides = sides_of(input, slots);
  const bool tie = sides[0].weight() == sides[1].weight();
  std::vector<std::size_t> elsewhere = slots[0]->absent;
  std::vector<std::size_t> ranks;
  for (const NumberSide& side : sides) {
    const std::vector<std::size_t>& inside = side.slot->inside;
    std::erase_if(elsewhere,
                  [&inside](std::size_t at) { return std::ranges::binary_search(inside, at); });
    if (tie || side.slot != sides.front().slot) {
      ranks.insert(ranks.end(), inside.begin(), inside.end());
    }
  }
  // Ranks that were not read may turn a minority into a majority.
  if (!is_minority(input, sides[1].weight(), sides[0].weight(), elsewhere) &&
      !is_minority(input, 0, 1, elsewhere)) {
    return std::nullopt;
  }
  std::ranges::sort(ranks);
  const Deviation deviating = tie ? left_their_pattern(input, ranks) : Deviation();
  if (!deviating.ranks.empty()) {
    ranks = deviating.ranks;
  }
  Finding finding = accuse(input, Kind::kMismatchedCollective, ranks, Evidence::kNumbers);
  finding.at_most(mismatch_confidence(sides, tie));
  finding.summary = places(input, ranks, [&](const RankView& rank) {
    const Slot& others = slot_without(input, slots, rank);
    return fmt::format("is in {}, {} at the same number in {}", call_at_words(input, rank),
                       ranks_words(input, others.inside),
                       call_at_words(input, input.rank(others.inside.front())));
  });
  if (!tie) {
    finding.summary += majority_words(input, sides.front(), ranks);
  }
  finding.summary += deviating.how;
  finding.advice = {"compare the calls on both sides: operation, size, type and root"};
  const Slot& others = slot_without(input, slots, input.rank(ranks.front()));
  tell_loop(input, ranks.front(), others.inside.front(), finding);
  finding.disproves = {"one operation at this number on all ranks"};
  return finding;
}

}  // namespace

std::vector<Finding> mismatched_collective(const RuleInput& input) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<const Slot*>> by_number;
  for (const Slot* slot : closed_slots(input)) {
    if (slot->sequence >= 0 && slot->kind == snapshot::CallKind::kCollective) {
      by_number[{slot->group, slot->sequence}].push_back(slot);
    }
  }
  std::vector<Finding> findings;
  for (const auto& at_number : by_number) {
    const std::vector<const Slot*>& slots = at_number.second;
    if (slots.size() < 2) {
      continue;
    }
    if (auto finding = mismatch_at(input, slots)) {
      findings.push_back(*std::move(finding));
    }
  }
  std::ranges::move(from_records(input), std::back_inserter(findings));
  return findings;
}

}  // namespace oddrank::aggregate
