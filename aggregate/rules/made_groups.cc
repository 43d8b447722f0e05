// Ranks that make groups together count them differently: under the same number, the group of some
// ranks has other members than the group of the others, or the same group has different numbers.
// torch numbers groups by how often the process has called new_group(), and members meet under that
// number. So some have called it more often than others, or in another order
// (torch/distributed/distributed_c10d.py, _process_group_name; groups with
// use_local_synchronization have hashes for names).
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "base/parse_number.h"
#include "snapshot/rank_text.h"

namespace oddrank::aggregate {
namespace {

constexpr std::string_view kMaker = "_new_process_group_helper";
constexpr std::int32_t kMaxMakers = 512;  // all pairs of them are compared

// The groups that a rank has made, or makes, by their numbers.
using MadeGroups = std::map<std::int64_t, std::vector<std::int32_t>>;

// Returns the ranks of a list as Python writes it, "[0, 1]"; empty if it is cut, unless it is as
// long as the list of the default group's ranks: "[0, 1, 2, 3, ... 5 items]" is all five.
std::vector<std::int32_t> listed_ranks(const RankView& rank, std::string list) {
  const auto* world = snapshot::default_group_of(rank.process->groups);
  if (world != nullptr && world->size > 0 && world->size <= kMaxMakers &&
      list.ends_with(fmt::format(", ... {} items]", world->size))) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(world->size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::erase_if(list, [](char one) { return one == '[' || one == ']' || one == ' '; });
  std::vector<std::int32_t> ranks = snapshot::ranks_of(list);
  std::ranges::sort(ranks);
  return ranks;
}

// Adds the group that the rank makes, while it waits for the other members.
void add_new_group(const JobView& view, const RankView& rank, MadeGroups& made) {
  const auto& frames = view.capture().tables.stacks()[rank.sample()->python_frames()].frames;
  for (const snapshot::FrameLocals& row : rank.decider->locals) {
    if (row.frame >= frames.size() ||
        view.text(view.capture().tables.frame(frames[row.frame]).function) != kMaker) {
      continue;
    }
    std::string_view name;
    std::vector<std::int32_t> members;
    for (const snapshot::Local& local : row.locals) {
      if (view.text(local.name) == "group_name") {
        name = view.text(local.value);
      } else if (view.text(local.name) == "global_ranks_in_group") {
        members = listed_ranks(rank, std::string(view.text(local.value)));
      }
    }
    const auto number = name.size() > 2
                            ? parse_number<std::int64_t>(name.substr(1, name.size() - 2))
                            : std::nullopt;
    if (number && !members.empty()) {
      made.emplace(*number, std::move(members));
      return;
    }
  }
}

MadeGroups made_groups(const JobView& view, const RankView& rank) {
  MadeGroups made;
  if (!takes_part(rank) || rank.decider->call->kind != snapshot::CallKind::kRendezvous) {
    return made;
  }
  for (const snapshot::ProcessGroup& group : rank.process->groups) {
    const auto number = parse_number<std::int64_t>(view.text(group.name));
    std::vector<std::int32_t> members = view.ranks_of(group.members);
    if (number && !group.is_default && !members.empty()) {
      std::ranges::sort(members);
      made.emplace(*number, std::move(members));
    }
  }
  add_new_group(view, rank, made);
  return made;
}

// The groups of two ranks that have the same number or the same members.
using Conflict = std::pair<const MadeGroups::value_type*, const MadeGroups::value_type*>;

bool share_members(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return std::ranges::any_of(a,
                             [&b](std::int32_t one) { return std::ranges::binary_search(b, one); });
}

// Returns a number with other members on the other rank, or else members with another number there.
// (The parts of a split_group() have one number, and no members in common.)
std::optional<Conflict> conflict_of(const MadeGroups& a, const MadeGroups& b) {
  for (const auto& made : a) {
    const auto same = b.find(made.first);
    if (same != b.end() && same->second != made.second &&
        share_members(made.second, same->second)) {
      return Conflict{&made, &*same};
    }
  }
  for (const auto& made : a) {
    const auto same =
        std::ranges::find_if(b, [&made](const auto& one) { return one.second == made.second; });
    // A program may make several groups of the same ranks.
    if (same != b.end() && !a.contains(same->first) && !b.contains(made.first)) {
      return Conflict{&made, &*same};
    }
  }
  return std::nullopt;
}

// The ranks (index) with which each rank conflicts.
using Conflicts = std::map<std::size_t, std::vector<std::size_t>>;

// Returns the ranks that conflict with most others; empty if conflicts remain without them.
std::vector<std::size_t> who_deviates(const Conflicts& with) {
  std::size_t most = 0;
  for (const auto& [rank, others] : with) {
    most = std::max(most, others.size());
  }
  std::vector<std::size_t> found;
  for (const auto& [rank, others] : with) {
    if (others.size() == most) {
      found.push_back(rank);
    }
  }
  const auto deviates = [&found](std::size_t rank) {
    return std::ranges::binary_search(found, rank);
  };
  for (const auto& [rank, others] : with) {
    if (!deviates(rank) && !std::ranges::all_of(others, deviates)) {
      return {};
    }
  }
  return found;
}

std::string conflict_words(const RuleInput& input,
                           std::size_t deviating,
                           std::size_t other,
                           const Conflict& conflict) {
  const auto name = [&input](std::size_t at) { return ranks_phrase({input.rank(at).rank}); };
  const auto& [mine, theirs] = conflict;
  const std::string members = ranks_phrase(mine->second);
  return mine->first == theirs->first
             ? fmt::format("group number {} has {} on {} and {} on {}", mine->first, members,
                           name(deviating), ranks_phrase(theirs->second), name(other))
             : fmt::format("the group of {} is number {} on {} and number {} on {}", members,
                           mine->first, name(deviating), theirs->first, name(other));
}

Conflicts conflicts_of(const std::map<std::size_t, MadeGroups>& made) {
  Conflicts conflicts;
  for (auto a = made.begin(); a != made.end(); ++a) {
    for (auto b = std::next(a); b != made.end(); ++b) {
      if (conflict_of(a->second, b->second)) {
        conflicts[a->first].push_back(b->first);
        conflicts[b->first].push_back(a->first);
      }
    }
  }
  return conflicts;
}

}  // namespace

std::vector<Finding> made_another(const RuleInput& input) {
  std::map<std::size_t, MadeGroups> made;  // by rank (index); only ranks that make one now
  for (std::size_t at = 0; at < input.view.ranks().size() && std::ssize(made) <= kMaxMakers; ++at) {
    if (MadeGroups groups = made_groups(input.view, input.rank(at)); !groups.empty()) {
      made.emplace(at, std::move(groups));
    }
  }
  if (std::ssize(made) > kMaxMakers) {
    return {};
  }
  const Conflicts conflicts = conflicts_of(made);
  const std::vector<std::size_t> deviating = who_deviates(conflicts);
  if (deviating.empty() ||
      !is_minority(input, deviating.size(), made.size() - deviating.size(), {}) ||
      any_moved(input, deviating)) {
    return {};
  }
  Finding finding = accuse(input, Kind::kRendezvous, deviating, Evidence::kNumbers);
  finding.at_most(Confidence::kLikely);
  if (finding.confidence == Confidence::kNone) {
    return {};
  }
  const std::size_t first = deviating.front();
  const auto has_other_members = [&](std::size_t other) {
    const auto [mine, theirs] = *conflict_of(made.at(first), made.at(other));
    return mine->first == theirs->first;
  };
  const std::vector<std::size_t>& others = conflicts.at(first);
  const auto telling = std::ranges::find_if(others, has_other_members);
  const bool order = telling != others.end();
  const std::size_t other = order ? *telling : others.front();
  const Conflict conflict = *conflict_of(made.at(first), made.at(other));
  finding.summary =
      fmt::format("{}: {} {} called new_group() {}, so they never meet",
                  conflict_words(input, first, other, conflict), ranks_words(input, deviating),
                  deviating.size() == 1 ? "has" : "have",
                  order ? "in another order, or for other ranks"
                  : conflict.first->first > conflict.second->first ? "more often"
                                                                   : "less often");
  finding.advice = {
      "call new_group() on all ranks, as often and in the same order, also on those "
      "that are no members of it"};
  finding.disproves = {"the same groups under the same numbers on all ranks"};
  return {finding};
}

}  // namespace oddrank::aggregate
