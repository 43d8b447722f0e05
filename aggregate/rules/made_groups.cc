#include "aggregate/rules/made_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "base/parse_number.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

constexpr std::string_view kMaker = "_new_process_group_helper";

// A group that a rank makes, and waits for the other members.
struct MadeGroup {
  std::string ranks;  // as Python writes the list
  std::int64_t number = 0;
};

std::optional<MadeGroup> made_group(const JobView& view, const RankView& rank) {
  if (!takes_part(rank) || rank.decider->call->kind != snapshot::CallKind::kRendezvous) {
    return std::nullopt;
  }
  const auto& frames = view.capture().tables.stacks()[rank.sample()->python_frames()].frames;
  for (const snapshot::FrameLocals& row : rank.decider->locals) {
    if (row.frame >= frames.size() ||
        view.text(view.capture().tables.frame(frames[row.frame]).function) != kMaker) {
      continue;
    }
    std::string_view name;
    MadeGroup made;
    for (const snapshot::Local& local : row.locals) {
      if (view.text(local.name) == "group_name") {
        name = view.text(local.value);
      } else if (view.text(local.name) == "global_ranks_in_group") {
        made.ranks = printable(view.text(local.value));
      }
    }
    const auto number = name.size() > 2
                            ? parse_number<std::int64_t>(name.substr(1, name.size() - 2))
                            : std::nullopt;
    if (number && !made.ranks.empty()) {
      made.number = *number;
      return made;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> made_another(const RuleInput& input) {
  std::map<std::string, std::map<std::int64_t, std::vector<std::size_t>>> made;  // by ranks, number
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    if (auto group = made_group(input.view, input.view.ranks()[at])) {
      made[std::move(group->ranks)][group->number].push_back(at);
    }
  }
  for (const auto& [members, by_number] : made) {
    if (by_number.size() != 2) {
      continue;
    }
    const auto& a = *by_number.begin();
    const auto& b = *by_number.rbegin();
    const auto& [number, fewer] = a.second.size() < b.second.size() ? a : b;
    const auto& [usual, more] = a.second.size() < b.second.size() ? b : a;
    if (!is_minority(input, fewer.size(), more.size(), {}) || any_moved(input, fewer)) {
      continue;
    }
    Finding finding = accuse(input, Kind::kRendezvous, fewer, Evidence::kNumbers);
    finding.confidence = std::min(finding.confidence, Confidence::kLikely);
    if (finding.confidence == Confidence::kNone) {
      continue;
    }
    finding.summary = fmt::format(
        "the group of ranks {} is number {} on {} and number {} on {}: {} {} called new_group() {} "
        "often, so they never meet",
        members, number, ranks_words(input, fewer), usual, ranks_words(input, more),
        ranks_words(input, fewer), fewer.size() == 1 ? "has" : "have",
        number > usual ? "more" : "less");
    finding.advice = {
        "call new_group() on all ranks, as often and in the same order, also on those "
        "that are no members of it"};
    finding.disproves = {"one number of that group on all ranks"};
    return {finding};
  }
  return {};
}

}  // namespace oddrank::aggregate
