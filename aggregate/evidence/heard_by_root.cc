#include "aggregate/evidence/heard_by_root.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "snapshot/connection.h"

namespace oddrank::aggregate {

namespace {

struct RootOfRank {
  const snapshot::BootstrapRoot* root = nullptr;
  std::size_t rank = 0;
};

// Returns the only root among `members` that waits for exactly so many ranks. (A communicator with
// several roots has one such root left, once the others have heard of all.)
std::optional<RootOfRank> only_root(const JobView& view, const std::vector<std::size_t>& members) {
  std::optional<RootOfRank> found;
  for (const std::size_t at : members) {
    const RankView& rank = view.rank(at);
    if (rank.process == nullptr) {
      continue;
    }
    for (const snapshot::BootstrapRoot& root : rank.process->roots) {
      if (root.size != static_cast<std::int32_t>(members.size())) {
        continue;
      }
      if (found) {
        return std::nullopt;
      }
      found = RootOfRank{&root, at};
    }
  }
  return found;
}

}  // namespace

std::optional<HeardByRoot> heard_by_root(const JobView& view,
                                         const std::vector<std::size_t>& members,
                                         const std::vector<std::size_t>& inside) {
  const auto found = only_root(view, members);
  if (!found) {
    return std::nullopt;
  }
  const snapshot::BootstrapRoot& root = *found->root;
  HeardByRoot heard;
  const auto add = [&](snapshot::StringId list, bool if_outside) {
    for (const std::int32_t number : view.ranks_of(list)) {
      const auto at = static_cast<std::size_t>(number);
      if (at < members.size() && !(if_outside && std::ranges::binary_search(inside, members[at]))) {
        heard.absent.push_back(members[at]);
      }
    }
  };
  add(root.absent, false);
  add(root.unclear, true);
  std::ranges::sort(heard.absent);
  const auto count_of_list = [&view](snapshot::StringId list) {
    return static_cast<std::int32_t>(view.ranks_of(list).size());
  };
  const bool counts = root.came >= 0 || root.unclear == snapshot::StringId{};
  const std::int32_t noted =
      root.awaited - count_of_list(root.absent) - count_of_list(root.unclear);
  const std::int32_t came = root.came >= 0 ? root.came : noted;
  const auto missing = static_cast<std::int32_t>(heard.absent.size());
  heard.is_all = counts && root.awaited - came == missing;
  heard.words = fmt::format("NCCL's bootstrap root ({}) has heard of {}{} of {} ranks",
                            JobView::short_name(view.rank(found->rank)), counts ? "" : "at least ",
                            came, root.awaited);
  if (heard.is_all) {
    heard.words += ", not of " + format_ranks_within(view.numbers_of(heard.absent), 40);
  }
  return heard;
}

}  // namespace oddrank::aggregate
