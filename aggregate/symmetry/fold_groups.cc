#include "aggregate/symmetry/fold_groups.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/evidence/slots.h"
#include "aggregate/solver/graph_algorithms.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;

constexpr std::int64_t kNoPlace = -1;
// In larger groups, the place of a transfer's other side is not looked up.
constexpr std::size_t kMaxSearchedMembers = 4096;

// What folded groups have in common.
struct LikeKey {
  Role role = Role::kElsewhere;
  std::string_view stack;
  CallKind kind = CallKind::kCollective;
  std::string_view op;
  std::string_view label;
  std::size_t size = 0;    // of the process group; 0 = unknown
  std::size_t inside = 0;  // ranks of the group
  std::string shape;  // without a label: distances between the members; of a transfer: to the peer
  std::int64_t place = kNoPlace;  // of the root

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const LikeKey&) const = default;
};

Role nearest_role(const RankGroup& group, const std::vector<Role>& roles) {
  Role role = Role::kElsewhere;
  for (const std::size_t rank : group.ranks) {
    if (roles[rank] == Role::kRoot) {
      return Role::kRoot;
    }
    role = roles[rank] == Role::kDirect || role == Role::kElsewhere ? roles[rank] : role;
  }
  return role;
}

// Returns the call that the group is in; null if the group is more than its call: it is stopped,
// frozen, has crashed, or the call concerns all ranks.
const CollectiveCall* folding_call(const JobView& view, const RankGroup& group) {
  const RankView& first = view.rank(group.ranks.front());
  if (first.decider == nullptr || !first.decider->call || state_class(first.state()) != 'S' ||
      first.crashed() || is_frozen(view, first)) {
    return nullptr;
  }
  const CollectiveCall& call = *first.decider->call;
  const bool folds = is_transfer(call) ? call.peer >= 0
                                       : call.kind == CallKind::kCollective && !call.whole_world &&
                                             (!view.text(call.group).empty() ||
                                              !view.ranks_of(call.members).empty());
  return folds ? &call : nullptr;
}

// Returns the program's name for the group of the call; "" if it is not known.
std::string_view dimension_of(const JobView& view,
                              const RankView& rank,
                              const CollectiveCall& call) {
  if (const std::string_view label = view.text(call.label); !label.empty()) {
    return label;
  }
  const snapshot::ProcessGroup* group = snapshot::find_group_of(rank.process->groups, call);
  return group == nullptr || group->is_default ? std::string_view() : view.text(group->label);
}

std::string shape_of(const std::vector<std::int32_t>& members) {
  std::string shape;
  for (const std::int32_t member : members) {
    shape += fmt::format("{},", member - members.front());
  }
  return shape;
}

std::int64_t place_in(const std::vector<std::int32_t>& members, std::int32_t rank) {
  const auto at = std::ranges::find(members, rank);
  return at == members.end() ? kNoPlace : at - members.begin();
}

// Returns how far the peer is from the rank: round the group if both are in it, so that all
// members of a ring are alike; else by their numbers.
std::int64_t peer_distance(const std::vector<std::int32_t>& members,
                           std::int32_t rank,
                           std::int32_t peer) {
  if (members.size() <= kMaxSearchedMembers) {
    const std::int64_t from = place_in(members, rank);
    const std::int64_t to = place_in(members, peer);
    if (from != kNoPlace && to != kNoPlace) {
      const auto size = static_cast<std::int64_t>(members.size());
      return (to - from + size) % size;
    }
  }
  return std::int64_t{peer} - rank;
}

// Several ranks of a group may wait for one peer, at different distances.
std::string peer_distances(const JobView& view, const RankGroup& group) {
  std::vector<std::int64_t> distances;
  for (const std::size_t at : group.ranks) {
    const RankView& rank = view.rank(at);
    if (rank.decider != nullptr && rank.decider->call) {
      const CollectiveCall& call = *rank.decider->call;
      distances.push_back(peer_distance(view.ranks_of(call.members), rank.rank, call.peer));
    }
  }
  std::ranges::sort(distances);
  std::string words;
  for (const std::int64_t distance : distances) {
    words += fmt::format("{},", distance);
  }
  return words;
}

std::optional<LikeKey> key_of(const JobView& view, const RankGroup& group, Role role) {
  const CollectiveCall* call = role == Role::kRoot ? nullptr : folding_call(view, group);
  if (call == nullptr) {
    return std::nullopt;
  }
  const RankView& first = view.rank(group.ranks.front());
  const std::vector<std::int32_t>& members = view.ranks_of(call->members);
  // Groups differ by whether they wait for a root directly, not by the way to the root.
  LikeKey key;
  key.role = role == Role::kDirect ? role : Role::kElsewhere;
  key.stack = group.stack.key;
  key.kind = call->kind;
  key.op = view.text(call->op);
  key.label = dimension_of(view, first, *call);
  key.inside = group.ranks.size();
  if (call->kind != CallKind::kCollective) {
    key.shape = peer_distances(view, group);
    return key;
  }
  key.size = members.size();
  key.shape = key.label.empty() ? shape_of(members) : "";
  key.place = call->root < 0 ? kNoPlace : place_in(members, call->root);
  return key;
}

// Returns what identifies the process group: its members, or its name if they are not known.
std::string_view identity_of(const JobView& view, const RankGroup& group) {
  const CollectiveCall& call = *view.rank(group.ranks.front()).decider->call;
  return view.text(call.members).empty() ? view.text(call.group) : view.text(call.members);
}

// Drops groups that are parts of one process group: what differs between them is a finding.
void drop_parts(const JobView& view,
                const std::vector<RankGroup>& groups,
                std::vector<std::size_t>& like) {
  std::map<std::string_view, std::size_t> times;
  for (const std::size_t at : like) {
    ++times[identity_of(view, groups[at])];
  }
  std::erase_if(like, [&](std::size_t at) { return times[identity_of(view, groups[at])] > 1; });
}

// Returns ", #4711" or ", #4700-4711"; "" if one is not known.
std::string sequence_words(const JobView& view,
                           const std::vector<RankGroup>& groups,
                           const std::vector<std::size_t>& like) {
  std::int64_t least = -1;
  std::int64_t most = -1;
  for (const std::size_t at : like) {
    const std::int64_t sequence = view.ranks()[groups[at].ranks.front()].decider->call->sequence;
    if (sequence < 0) {
      return {};
    }
    least = least < 0 ? sequence : std::min(least, sequence);
    most = std::max(most, sequence);
  }
  return least == most ? fmt::format(", #{}", least) : fmt::format(", #{}-{}", least, most);
}

std::string folded_words(const JobView& view,
                         const std::vector<RankGroup>& groups,
                         const std::vector<std::size_t>& like,
                         const LikeKey& key) {
  const std::string name = printable(key.op, 60);
  std::string op = name.empty() ? "a collective" : name;
  if (key.kind != CallKind::kCollective) {
    const bool sends = key.kind == CallKind::kSend;
    return fmt::format("{} {} rank * ({} {})", op, sends ? "to" : "from", like.size(),
                       sends ? "receivers" : "senders");
  }
  if (key.place != kNoPlace) {
    const bool gathers = op.find("reduce") != std::string::npos || op.starts_with("gather");
    op += gathers ? " to rank *" : " from rank *";
  }
  const std::string label = printable(key.label, 60);
  return fmt::format("{} in group {}* ({} groups{}){}", op, label.empty() ? "" : label + '#',
                     like.size(), key.size == 0 ? "" : fmt::format(" of {}", key.size),
                     sequence_words(view, groups, like));
}

}  // namespace

std::vector<Fold> fold_groups(const JobView& view,
                              const std::vector<RankGroup>& groups,
                              const std::vector<Role>& roles) {
  std::map<LikeKey, std::vector<std::size_t>> alike;
  std::vector<Role> role_of_group;
  for (std::size_t at = 0; at < groups.size(); ++at) {
    role_of_group.push_back(nearest_role(groups[at], roles));
    if (auto key = key_of(view, groups[at], role_of_group.back())) {
      alike[*std::move(key)].push_back(at);
    }
  }
  std::vector<bool> folded(groups.size(), false);
  std::vector<Fold> folds;
  for (auto& [key, like] : alike) {
    if (key.kind == CallKind::kCollective) {
      drop_parts(view, groups, like);
    }
    if (like.size() < kFewestFolded) {
      continue;
    }
    for (const std::size_t at : like) {
      folded[at] = true;
    }
    std::string phase = folded_words(view, groups, like, key);
    folds.push_back({std::move(like), std::move(phase)});
  }
  for (std::size_t at = 0; at < groups.size(); ++at) {
    if (!folded[at]) {
      folds.push_back({{at}, {}});
    }
  }
  // Groups of one fold have equally many ranks.
  const auto order = [&](const Fold& fold) {
    const std::size_t first = fold.groups.front();
    const Role role = role_of_group[first];
    const int part = role == Role::kRoot ? 0 : role == Role::kDirect ? 1 : 2;
    return std::tuple(part,
                      -static_cast<std::int64_t>(fold.groups.size() * groups[first].ranks.size()),
                      groups[first].ranks.front());
  };
  std::ranges::sort(folds, [&order](const Fold& a, const Fold& b) { return order(a) < order(b); });
  return folds;
}

RankGroup whole_of(const std::vector<RankGroup>& groups, const Fold& fold) {
  RankGroup whole = groups[fold.groups.front()];
  if (!fold.is_folded()) {
    return whole;
  }
  whole.phase = fold.phase;
  whole.ranks.clear();
  for (const std::size_t at : fold.groups) {
    whole.ranks.insert(whole.ranks.end(), groups[at].ranks.begin(), groups[at].ranks.end());
    for (const char letter : groups[at].state) {
      if (whole.state.find(letter) == std::string::npos) {
        whole.state += letter;
      }
    }
  }
  std::ranges::sort(whole.ranks);
  return whole;
}

namespace {

// Returns whether the verdict names the rank, or a story beside it does.
bool is_root(const Verdict& verdict, const RankView& rank) {
  const auto is_end = [&rank](const LinkEnd& end) {
    return end.rank == rank.rank && end.pid == rank.pid() && end.host == rank.host;
  };
  return is_named(rank, verdict.culprits) ||
         std::ranges::any_of(
             verdict.also,
             [&rank](const OtherStory& other) { return is_named(rank, other.culprits); }) ||
         std::ranges::any_of(verdict.links, [&is_end](const BrokenLink& link) {
           return is_end(link.from) || is_end(link.to);
         });
}

}  // namespace

std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict) {
  const std::size_t ranks = view.ranks().size();
  std::vector<Role> roles(ranks, Role::kElsewhere);
  std::vector<std::size_t> roots =
      view.ranks_that([&](std::size_t at) { return is_root(verdict, view.rank(at)); });
  // A link has no guilty end; ranks that wait for it wait for a root.
  for (std::size_t node = ranks; node < graph.nodes.size() && !verdict.links.empty(); ++node) {
    if (graph.nodes[node].kind == NodeKind::kLink) {
      roots.push_back(node);
    }
  }
  std::vector<std::size_t> toward;
  const std::vector<std::size_t> distance = distances(graph.in, roots, &toward);
  for (std::size_t at = 0; at < ranks; ++at) {
    if (distance[at] == 0 || distance[at] == kFar) {
      roles[at] = distance[at] == 0 ? Role::kRoot : Role::kElsewhere;
      continue;
    }
    std::size_t next = toward[at];
    while (next >= ranks && distance[next] > 0) {
      next = toward[next];
    }
    roles[at] = distance[next] == 0 ? Role::kDirect : Role::kIndirect;
  }
  return roles;
}

}  // namespace oddrank::aggregate
