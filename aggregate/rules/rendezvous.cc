// The job still initialises: all ranks that are there wait in a store or in the creation of a
// group, and some ranks are missing. Or some ranks create a group while others are elsewhere.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/rank_past.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the rank is merely late. With its own reason to be late, it has its own story.
bool is_late(const RuleInput& input, const RankPast& past, std::size_t at) {
  const RankView& rank = input.rank(at);
  const bool never_came =
      rank.presence == Presence::kAbsent && !rank.launched && !past.was_there(rank);
  return never_came || local_story(input, at) == Kind::kSkippedCollective;
}

std::string rendezvous_predicate(const RuleInput& input,
                                 const RankPast& past,
                                 const Slot& slot,
                                 const RankView& rank) {
  if (rank.presence == Presence::kAbsent) {
    if (std::string ended = past.ended_by_srun(rank); !ended.empty()) {
      return ended;
    }
    return fmt::format("has not come, or has ended: {} of {} ranks are there", slot.inside.size(),
                       input.view.expected());
  }
  FrameModel& model = input.view.model();
  return fmt::format("has not come to the {}{}", slot.words,
                     model.story(rank.sample(), Story::kConnects)
                         ? ": it still tries to connect to the store"
                         : model.user_place(rank.sample(), ": it is in "));
}

// Returns whether the circle rests on guesses other than the usual one that all ranks come to a
// rendezvous.
bool has_other_guess(const Circle& circle) {
  return std::ranges::any_of(circle.slots, [](const Slot* slot) {
    return !is_clear(*slot) || slot->membership == Membership::kUnknown ||
           (slot->membership == Membership::kAssumed &&
            slot->kind != snapshot::CallKind::kRendezvous);
  });
}

}  // namespace

// Handles a new group, which all ranks have to create together: some create it, while others are in
// a collective that the former do not enter. The smaller side deviates; on a tie both are named.
std::vector<Finding> made_by_some(const RuleInput& input) {
  for (const Circle& circle : input.blame.circles) {
    const auto at = std::ranges::find_if(circle.slots, [](const Slot* slot) {
      return slot->kind == snapshot::CallKind::kRendezvous;
    });
    if (!circle.closed || at == circle.slots.end() || has_other_guess(circle)) {
      continue;
    }
    const Slot& slot = **at;
    std::vector<std::size_t> makers = slot.inside;
    std::vector<std::size_t> others;
    for (const std::size_t rank : slot.absent) {
      const bool in_circle = std::ranges::binary_search(circle.ranks, rank);
      if (in_circle && takes_part(input.rank(rank))) {
        others.push_back(rank);
      }
    }
    if (others.empty()) {
      continue;
    }
    std::vector<std::size_t> fewer = makers.size() <= others.size() ? makers : others;
    const std::size_t more = std::max(makers.size(), others.size());
    if (!is_minority(input, fewer.size(), more, slot.absent)) {
      if (input.unread || fewer.size() < more) {
        continue;
      }
      fewer.insert(fewer.end(), others.begin(), others.end());
      std::ranges::sort(fewer);
    }
    Finding finding = accuse(input, Kind::kRendezvous, fewer, Evidence::kAbsence);
    if (finding.confidence == Confidence::kNone) {
      continue;
    }
    finding.summary =
        fmt::format("{} {} in the {}, which all ranks have to come to; {} {} in {}",
                    ranks_words(input, makers), makers.size() == 1 ? "is" : "are", slot.words,
                    ranks_words(input, others), others.size() == 1 ? "is" : "are",
                    call_words(input.view, *input.rank(others.front()).decider->call));
    finding.advice = {"call new_group() on all ranks, also on those that are no members of it"};
    finding.disproves = {"the others coming to the making of that group"};
    finding.weakness = "that all ranks have to take part is the rule, and was not read";
    return {finding};
  }
  auto found = made_another(input);
  return found.empty() ? launchers_wait(input) : found;
}

std::vector<Finding> rendezvous(const RuleInput& input) {
  const auto& slots = input.graph.slots;
  const bool initialises = !slots.empty() && std::ranges::all_of(slots, [](const Slot& slot) {
    return slot.kind == snapshot::CallKind::kRendezvous;
  });
  if (!initialises) {
    return {};
  }
  const Slot& slot = slots.front();
  const RankPast past(input.view);
  std::vector<std::size_t> late;
  bool absent = false;
  for (const std::size_t at : slot.absent) {
    const bool suspect = std::ranges::binary_search(input.about.ranks, at);
    if (suspect && is_late(input, past, at)) {
      late.push_back(at);
      absent = absent || input.rank(at).presence == Presence::kAbsent;
    }
  }
  if (late.empty()) {
    return {};
  }
  // A rank that does not exist explains more than one that exists and is late.
  if (absent) {
    std::erase_if(
        late, [&input](std::size_t at) { return input.rank(at).presence != Presence::kAbsent; });
  }
  Finding finding =
      accuse(input, Kind::kRendezvous, late, absent ? Evidence::kState : Evidence::kAbsence);
  const bool counted = !slot.counted_by_root.empty();
  finding.confidence =
      counted || (absent && !input.unread) ? Confidence::kLikely : Confidence::kPossible;
  finding.summary = sentence(input, late, [&](const RankView& rank) {
    return rendezvous_predicate(input, past, slot, rank);
  });
  finding.summary += (counted ? "; " : "") + slot.counted_by_root;
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.detail = culprit.pid == 0 ? "no process was found" : "";
  }
  finding.advice = {"compare WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT of all ranks",
                    "look in the job's output for an error of a rank that is not there"};
  finding.disproves = {"the number of ranks in the store growing"};
  finding.weakness = "the job may be starting";
  return {finding};
}

}  // namespace oddrank::aggregate
