// Ranks wait for each other in a circle: through two groups that they entered in different order
// (collective_order), or through sends and receives that cross (p2p_order).
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/wait_words.h"

namespace oddrank::aggregate {
namespace {

struct Cycle {
  std::vector<std::size_t> ranks;
  std::set<std::string> groups;
};

std::map<std::size_t, Cycle> find_cycles(const RuleInput& input) {
  const WaitGraph& graph = input.graph;
  const std::set<std::size_t> closed = closed_circles(input.view, graph);
  std::map<std::size_t, Cycle> cycles;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const std::size_t component = graph.component[node];
    if (!closed.contains(component)) {
      continue;
    }
    Cycle& cycle = cycles[component];
    const GraphNode& it = graph.nodes[node];
    if (it.kind == NodeKind::kRank) {
      cycle.ranks.push_back(it.index);
    } else if (it.kind == NodeKind::kSlot) {
      cycle.groups.insert(graph.slots[it.index].group);
    }
  }
  return cycles;
}

// Returns the ranks of the cycle that deviate from what most ranks do: those outside of the call
// with the most ranks inside, whether these are in the cycle or not. On a tie, returns all; returns
// none if ranks that were not read might turn a minority into a majority.
std::vector<std::size_t> deviating(const RuleInput& input, const Cycle& cycle) {
  std::map<std::size_t, std::vector<std::size_t>> sides;  // by slot
  for (std::size_t slot = 0; slot < input.graph.slots.size(); ++slot) {
    for (const std::size_t at : input.graph.slots[slot].inside) {
      if (std::binary_search(cycle.ranks.begin(), cycle.ranks.end(), at)) {
        sides[slot].push_back(at);
      }
    }
  }
  std::size_t most = 0;
  std::size_t second = 0;
  std::size_t with_most = 0;
  std::vector<std::size_t> elsewhere;
  for (const auto& [slot, ranks] : sides) {
    const std::size_t size = input.graph.slots[slot].inside.size();
    with_most = size == most ? with_most + 1 : size > most ? 1 : with_most;
    second = std::max(second, std::min(most, size));
    most = std::max(most, size);
    const auto& absent = input.graph.slots[slot].absent;
    elsewhere.insert(elsewhere.end(), absent.begin(), absent.end());
  }
  if (!is_minority(input, second, most, elsewhere) && !is_minority(input, 0, 1, elsewhere)) {
    return {};
  }
  std::vector<std::size_t> result;
  for (const auto& [slot, ranks] : sides) {
    if (with_most != 1 || input.graph.slots[slot].inside.size() < most) {
      result.insert(result.end(), ranks.begin(), ranks.end());
    }
  }
  std::sort(result.begin(), result.end());
  return result.empty() ? cycle.ranks : result;
}

std::string cycle_words(const RuleInput& input, const Cycle& cycle) {
  std::map<std::string, std::vector<std::size_t>> sides;
  for (const std::size_t at : cycle.ranks) {
    sides[call_words(input.view, *input.view.ranks()[at].leader->call)].push_back(at);
  }
  std::string text;
  std::size_t shown = 0;
  for (const auto& [words, ranks] : sides) {
    if (++shown > 4) {
      text += ", ...";
      break;
    }
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", ranks_words(input, ranks), words);
  }
  return text;
}

}  // namespace

std::vector<Finding> order_cycle(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const auto& [component, cycle] : find_cycles(input)) {
    const bool all_in_calls =
        std::all_of(cycle.ranks.begin(), cycle.ranks.end(), [&input](std::size_t at) {
          return input.view.ranks()[at].leader != nullptr && input.view.ranks()[at].leader->call;
        });
    // One group alone: skipped or mismatched. Processes in the circle, or transfers and collectives:
    // resource_cycle.
    const bool transfers = std::any_of(cycle.ranks.begin(), cycle.ranks.end(), [&input](auto at) {
      const auto* leader = input.view.ranks()[at].leader;
      return leader != nullptr && leader->call && leader->call->peer >= 0;
    });
    if (cycle.ranks.size() < 2 || cycle.groups.size() == 1 || !all_in_calls ||
        (transfers && !cycle.groups.empty())) {
      continue;
    }
    const bool p2p = cycle.groups.empty();
    const std::vector<std::size_t> ranks = p2p ? cycle.ranks : deviating(input, cycle);
    if (ranks.empty()) {
      continue;
    }
    Finding finding =
        accuse(input, p2p ? Kind::kP2pOrder : Kind::kCollectiveOrder, ranks, Evidence::kOwnStall);
    if (finding.confidence == Confidence::kNone) {
      continue;
    }
    finding.summary = fmt::format("{} wait for each other in a circle: {}",
                                  ranks_words(input, cycle.ranks), cycle_words(input, cycle));
    finding.advice = {p2p ? "use batch_isend_irecv, or let one side receive before it sends"
                          : "enter the groups in one order on all ranks"};
    finding.disproves = {"one of these calls returning"};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
