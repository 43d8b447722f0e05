// What ranks need that is no rank: links, GPUs. Shared by the rules about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// A node of the graph that is a cause in its solution.
struct NeededNode {
  std::uint32_t index = 0;  // GraphNode::index
  CauseId cause = 0;
};

// Returns the nodes of that kind that ranks need to go on, the one that most need first.
std::vector<NeededNode> needed_nodes(const RuleInput& input, NodeKind kind);

// Returns the ranks that need it, by their calls: at most four.
std::vector<ChainLink> chain_to(const RuleInput& input,
                                CauseId cause,
                                const std::string& label,
                                const std::string& evidence);

// Returns how sure a rule is of what has stood for so long: where something is lost now and then,
// or a step takes long, it has gone on by then.
Confidence sureness_by_age(std::int64_t age_ms);
// The same of what NCCL's data stand at; if its age is not known, by whether all that wait for it
// stood at the same place in all samples.
Confidence sureness_of_stall(const RuleInput& input,
                             std::int64_t age_ms,
                             const std::vector<std::size_t>& waiters);

}  // namespace oddrank::aggregate
