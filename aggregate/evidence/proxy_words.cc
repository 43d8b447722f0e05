#include <algorithm>

#include <fmt/format.h>

#include "aggregate/evidence/proxy_stalls.h"
#include "aggregate/view/call_counts.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {

std::string device_words(const JobView& view, const ProxyStall& stall) {
  const std::string host = printable(view.rank(stall.ranks.front()).host, 60);
  if (stall.ranks.size() == 1) {
    return fmt::format("the GPU of {}", JobView::name(view.rank(stall.ranks.front())));
  }
  return fmt::format("a GPU of ranks {} ({})", format_ranks(view.numbers_of(stall.ranks)), host);
}

std::string device_evidence(const ProxyStall& stall) {
  const std::string channels = count_of(stall.channels, "channel");
  return stall.kind == ProxyStall::Kind::kDevice
             ? fmt::format("{} arrived on {} of NCCL, and it has taken none",
                           count_of(static_cast<std::size_t>(stall.steps), "step") +
                               (stall.steps == 1 ? " has" : " have"),
                           channels)
             : fmt::format("there is room for its data on {} of NCCL, and it has given none",
                           channels);
}

std::int64_t age_of_stall_ms(const JobView& view, const ProxyStall& stall) {
  std::int64_t least = -1;
  for (const std::size_t at : stall.waiters) {
    const RankView& rank = view.rank(at);
    if (rank.decider == nullptr) {
      continue;
    }
    const std::int64_t made = rank.decider->call ? age_of_call_ms(rank, *rank.decider->call) : -1;
    const std::int64_t age = std::max(made, rank.decider->wait.quiet_ms);
    least = age < 0 ? least : least < 0 ? age : std::min(least, age);
  }
  return least;
}

}  // namespace oddrank::aggregate
