#include "aggregate/words/resource_words.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/base_name.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns "4" for 4000 thousandths, "0.5" for 500.
std::string amount_words(std::int64_t thousandths) {
  return fmt::format("{:g}", static_cast<double>(thousandths) / 1000);
}

}  // namespace

std::string resources_words(const JobView& view, const RankView& rank) {
  const snapshot::ResourceRequest& first = *rank.wants.front();
  const std::string others =
      rank.wants.size() == 1
          ? ""
          : fmt::format(", or {}", count_of(rank.wants.size() - 1, "other request"));
  return fmt::format("a {} {}{}", first.is_group ? "placement group" : "task or actor",
                     printable(view.text(first.shape), 100), others);
}

std::string shortage_words(const JobView& view, const RankView& rank) {
  const snapshot::ResourceRequest& first = *rank.wants.front();
  const std::string lacks = printable(view.text(first.lacks), 60);
  std::string words = "no node has room for it";
  if (!lacks.empty()) {
    words = fmt::format("{} {} asked for, {} of {} free", amount_words(first.asked), lacks,
                        amount_words(first.free), amount_words(first.total));
  }
  std::vector<std::string> holders;
  for (const pid_t pid : first.holders) {
    const auto* process = view.process(first.node, pid);
    const std::size_t at = process == nullptr ? JobView::kNone : view.index_of(*process);
    if (at != JobView::kNone) {
      holders.push_back(JobView::short_name(view.rank(at)));
    }
  }
  constexpr std::size_t kMaxShownHolders = 4;
  if (!holders.empty()) {
    const std::size_t shown = std::min(holders.size(), kMaxShownHolders);
    words +=
        "; held by " +
        fmt::format("{}", fmt::join(holders.begin(),
                                    holders.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    words += holders.size() > shown ? fmt::format(" and {} more", holders.size() - shown) : "";
  }
  return words + fmt::format(" (for {} s, by {} of {} s ago)", first.pending_ms / 1000,
                             printable(base_name(view.text(first.source)), 40),
                             first.said_ms / 1000);
}

}  // namespace oddrank::aggregate
