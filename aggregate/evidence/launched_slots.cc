#include "aggregate/evidence/launched_slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/sources/ras_job.h"

namespace oddrank::aggregate {
namespace {

bool awaits_device(const RankView& rank) {
  return rank.leader != nullptr && rank.motion.still() && !rank.leader->call &&
         rank.leader->wait.on == snapshot::WaitOn::kDevice;
}

bool is_still_in_call(const RankView& rank) {
  return rank.leader != nullptr && rank.motion.still() && rank.leader->call;
}

// Returns a slot that nobody is inside if it shows nothing.
Slot launched_slot(const JobView& view, const RasCommunicatorView& told) {
  Slot slot;
  for (std::size_t i = 0; i < told.members.size(); ++i) {
    const std::size_t at = view.index_of(told.members[i].rank);
    if (at == JobView::kNone) {
      return {};
    }
    const RankView& rank = view.ranks()[at];
    if (std::find(told.behind.begin(), told.behind.end(), i) != told.behind.end()) {
      slot.absent.push_back(at);
    } else if (awaits_device(rank)) {
      slot.inside.push_back(at);
    } else if (is_still_in_call(rank)) {
      slot.beside.push_back(at);
    } else {
      return {};
    }
  }
  for (auto* ranks : {&slot.inside, &slot.beside, &slot.absent}) {
    std::sort(ranks->begin(), ranks->end());
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
    if (told.counts_differ() && told.asked_twice && !told.moved) {
      Slot slot = launched_slot(view, told);
      if (!slot.inside.empty()) {
        slots.push_back(std::move(slot));
      }
    }
  }
  return slots;
}

}  // namespace oddrank::aggregate
