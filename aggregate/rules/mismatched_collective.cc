// Ranks of one group are at the same sequence number with different operations.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate/circles.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

// Returns the largest slot that the rank is not in; there is one.
const Slot& slot_without(const RuleInput& input,
                         const std::vector<const Slot*>& slots,
                         const RankView& rank) {
  const auto at = static_cast<std::size_t>(&rank - input.view.ranks().data());
  const bool in_first = std::binary_search(slots[0]->inside.begin(), slots[0]->inside.end(), at);
  return in_first ? *slots[1] : *slots[0];
}

}  // namespace

std::vector<Finding> mismatched_collective(const RuleInput& input) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<const Slot*>> by_number;
  for (const Slot* slot : closed_slots(input.graph)) {
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
    // Slots are sorted, largest first: the ranks in the others deviate, unless there is a tie.
    const bool tie = slots[0]->inside.size() == slots[1]->inside.size();
    std::vector<std::size_t> elsewhere = slots[0]->absent;
    std::vector<std::size_t> ranks;
    for (const Slot* slot : slots) {
      std::erase_if(elsewhere, [slot](std::size_t at) {
        return std::binary_search(slot->inside.begin(), slot->inside.end(), at);
      });
      if (tie || slot != slots.front()) {
        ranks.insert(ranks.end(), slot->inside.begin(), slot->inside.end());
      }
    }
    // Ranks that were not read may turn a minority into a majority.
    if (!is_minority(input, slots[1]->inside.size(), slots[0]->inside.size(), elsewhere) &&
        !is_minority(input, 0, 1, elsewhere)) {
      continue;
    }
    std::sort(ranks.begin(), ranks.end());
    Finding finding = accuse(input, Kind::kMismatchedCollective, ranks, Evidence::kNumbers);
    if (finding.confidence == Confidence::kNone) {
      continue;
    }
    finding.confidence =
        std::min(finding.confidence, tie ? Confidence::kLikely : Confidence::kCertain);
    finding.summary = places(input, ranks, [&](const RankView& rank) {
      const Slot& others = slot_without(input, slots, rank);
      return fmt::format("is in {}, {} at the same number in {}", call_at_words(input, rank),
                         ranks_words(input, others.inside),
                         call_at_words(input, input.view.ranks()[others.inside.front()]));
    });
    finding.advice = {"compare the calls on both sides: operation, size, type and root"};
    finding.disproves = {"one operation at this number on all ranks"};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
