// The job still initialises: all ranks that are there wait in a store or in the making of a group,
// and some are not there yet.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/printable.h"
#include "aggregate/rank_set.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"

namespace oddrank::aggregate {
namespace {

// A rank that is late for a reason of its own has a story of its own.
bool is_late(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.view.ranks()[at];
  return (rank.presence == Presence::kAbsent && !rank.launched) ||
         local_story(input, at) == Kind::kSkippedCollective;
}

std::string predicate(const RuleInput& input, const Slot& slot, std::size_t at) {
  const RankView& rank = input.view.ranks()[at];
  const std::string present = count_of(slot.inside.size(), "rank");
  const std::string verb = slot.inside.size() == 1 ? "waits" : "wait";
  if (rank.presence == Presence::kAbsent) {
    return fmt::format("never came: {} of {} {} for it in {}", present, input.view.expected(), verb,
                       slot.words);
  }
  const auto frame =
      rank.sample() == nullptr ? std::nullopt : input.view.model().user_frame(*rank.sample());
  return fmt::format("has not come to the {}{}; {} {} for it", slot.words,
                     frame ? fmt::format(": it is in {} ({})", frame->name, frame->place()) : "",
                     present, verb);
}

}  // namespace

std::vector<Finding> rendezvous(const RuleInput& input) {
  const auto& slots = input.graph.slots;
  const bool initialises =
      !slots.empty() && std::all_of(slots.begin(), slots.end(), [](const Slot& slot) {
        return slot.kind == snapshot::CallKind::kRendezvous;
      });
  if (!initialises) {
    return {};
  }
  const Slot& slot = slots.front();
  std::vector<std::size_t> late;
  bool absent = false;
  for (const std::size_t at : slot.absent) {
    if (is_late(input, at)) {
      late.push_back(at);
      absent = absent || input.view.ranks()[at].presence == Presence::kAbsent;
    }
  }
  if (late.empty()) {
    return {};
  }
  // Whoever is not there at all is worth more than who is there and late.
  if (absent) {
    late.erase(std::remove_if(late.begin(), late.end(),
                              [&input](std::size_t at) {
                                return input.view.ranks()[at].presence != Presence::kAbsent;
                              }),
               late.end());
  }
  Finding finding =
      accuse(input, Kind::kRendezvous, late, absent ? Evidence::kState : Evidence::kAbsence);
  finding.confidence = absent && !input.unread ? Confidence::kLikely : Confidence::kPossible;
  finding.weight += 500;
  finding.summary =
      sentence(input, late, [&](const RankView&) { return predicate(input, slot, late.front()); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.detail = culprit.pid == 0 ? "no process was found" : "";
  }
  finding.advice = {"compare WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT of all ranks",
                    "look in the job's output for an error of a rank that did not start"};
  finding.disproves = {"the number of ranks in the store growing"};
  finding.weakness = "the job may be starting";
  return {finding};
}

}  // namespace oddrank::aggregate
