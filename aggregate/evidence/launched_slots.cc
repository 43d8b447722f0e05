#include "aggregate/evidence/launched_slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/sources/ras_job.h"

namespace oddrank::aggregate {
namespace {

// Returns a slot that nobody is inside if it shows nothing.
Slot launched_slot(const JobView& view, const RasCommunicatorView& told) {
  Slot slot;
  for (std::size_t i = 0; i < told.members.size(); ++i) {
    const std::size_t at = view.index_of(told.members[i].rank);
    if (at == JobView::kNone) {
      return {};
    }
    const RankView& rank = view.rank(at);
    const bool still = rank.decider != nullptr && rank.motion.still();
    if (std::ranges::find(told.behind, i) != told.behind.end()) {
      slot.absent.push_back(at);
    } else if (still && rank.decider->call) {
      slot.beside.push_back(at);
    } else if (still && rank.decider->wait.on == snapshot::WaitOn::kDevice) {
      slot.inside.push_back(at);
    } else {
      return {};
    }
  }
  for (auto* ranks : {&slot.inside, &slot.beside, &slot.absent}) {
    std::ranges::sort(*ranks);
  }
  slot.group = "communicator " + told.hash;
  slot.op = snapshot::kRasOperationNames[told.operation];
  slot.words = fmt::format("{} in {}", slot.op, slot.group);
  slot.evidence = launch_words(told);
  slot.membership = Membership::kKnown;
  return slot;
}

}  // namespace

std::vector<Slot> launched_slots(const JobView& view) {
  std::vector<Slot> slots;
  for (const RasCommunicatorView& told : view_ras(view)) {
    if (told.counts_differ() && told.stood_still()) {
      Slot slot = launched_slot(view, told);
      if (!slot.inside.empty()) {
        slots.push_back(std::move(slot));
      }
    }
  }
  return slots;
}

}  // namespace oddrank::aggregate
