#include "aggregate/view/groups.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
char state_class(char state) {
  switch (state) {
    case 'T':
    case 't':
    case 'D':
    case 'Z':
    case 'X':
      return state;
    default:
      return 'S';
  }
}

std::vector<RankGroup> find_groups(const JobView& view) {
  std::map<std::tuple<std::string_view, char, std::string>, RankGroup>
      by_key;  // the texts belong to the model
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.rank(at);
    if (rank.presence == Presence::kUnread || rank.presence == Presence::kAbsent) {
      continue;
    }
    std::string phase = phase_of(view, rank);
    const auto* sample = rank.sample();
    const std::string_view key =
        sample == nullptr ? std::string_view() : std::string_view(view.model().fold(*sample).key);
    const auto [entry, is_new] =
        by_key.try_emplace({key, state_class(rank.state()), std::move(phase)});
    RankGroup& group = entry->second;
    if (is_new) {
      group.phase = std::get<std::string>(entry->first);
      if (sample != nullptr) {
        group.stack = view.model().fold(*sample);
      }
    }
    group.ranks.push_back(at);
    if (group.state.find(rank.state()) == std::string::npos) {
      group.state += rank.state();
    }
  }
  std::vector<RankGroup> groups;
  groups.reserve(by_key.size());
  for (auto& entry : by_key) {
    groups.push_back(std::move(entry.second));
  }
  std::ranges::stable_sort(groups, [](const RankGroup& a, const RankGroup& b) {
    return std::tuple(b.ranks.size(), a.ranks.front()) <
           std::tuple(a.ranks.size(), b.ranks.front());
  });
  return groups;
}

}  // namespace oddrank::aggregate
