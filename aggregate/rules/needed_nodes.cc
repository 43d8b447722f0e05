#include "aggregate/rules/needed_nodes.h"

#include <algorithm>
#include <map>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// A path that loses much, but not all, may lose a few tries in a row: four in 5 s, each after twice
// the time; five in 10 s.
constexpr std::int64_t kLikelyMs = 5000;
constexpr std::int64_t kCertainMs = 10000;
constexpr std::size_t kMaxHops = 4;

// Returns what the rank waits in; for a transfer without its other side, which always differs.
std::string waits_in(const RuleInput& input, const RankView& rank) {
  const auto& call = rank.decider->call;
  if (!call) {
    return rank.decider->wait.on == snapshot::WaitOn::kDevice ? "their device" : "wait";
  }
  return is_transfer(*call) ? printable(input.view.text(call->op), 60) : call_at_words(input, rank);
}

}  // namespace

std::vector<NeededNode> needed_nodes(const RuleInput& input, NodeKind kind) {
  const WaitGraph& graph = input.graph;
  std::vector<NeededNode> needed;
  const auto& causes = input.blame.solution.causes;
  for (CauseId id = 0; id < causes.size(); ++id) {
    const GraphNode& node = graph.nodes[causes[id].nodes.front()];
    if (!causes[id].circle && input.blame.needed[id] > 0 && node.kind == kind) {
      needed.push_back({node.index, id});
    }
  }
  std::ranges::stable_sort(needed, [&input](const NeededNode& a, const NeededNode& b) {
    return input.blame.needed[a.cause] > input.blame.needed[b.cause];
  });
  return needed;
}

std::vector<ChainLink> chain_to(const RuleInput& input,
                                CauseId cause,
                                const std::string& label,
                                const std::string& evidence) {
  std::map<std::string, std::vector<std::int32_t>> waiters;
  for (const std::size_t at : input.blame.solution.waiters(cause, input.view.ranks().size())) {
    const RankView& rank = input.rank(at);
    if (rank.rank >= 0 && rank.decider != nullptr) {
      waiters[waits_in(input, rank)].push_back(rank.rank);
    }
  }
  std::vector<ChainLink> chain;
  for (auto& [call, ranks] : waiters) {
    if (chain.size() < kMaxHops) {
      chain.push_back({format_ranks(std::move(ranks)), label, call, evidence});
    }
  }
  return chain;
}

Confidence sureness_by_age(std::int64_t age_ms) {
  return age_ms < kLikelyMs    ? Confidence::kPossible
         : age_ms < kCertainMs ? Confidence::kLikely
                               : Confidence::kCertain;
}

Confidence sureness_of_stall(const RuleInput& input,
                             std::int64_t age_ms,
                             const std::vector<std::size_t>& waiters) {
  if (age_ms >= 0) {
    return sureness_by_age(age_ms);
  }
  const bool stood = !input.young() && std::ranges::all_of(waiters, [&input](std::size_t at) {
    const Motion& motion = input.rank(at).motion;
    return motion.measured && !motion.stack && !motion.locals;
  });
  return stood ? Confidence::kLikely : Confidence::kPossible;
}

}  // namespace oddrank::aggregate
