// Links and GPUs that ranks need to go on. Shared by the rules about them.
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

// Returns the nodes of that kind that ranks need to go on; those that most ranks need first.
std::vector<NeededNode> needed_nodes(const RuleInput& input, NodeKind kind);

// Returns the ranks that need the cause, by their calls: at most four links.
std::vector<ChainLink> chain_to(const RuleInput& input,
                                CauseId cause,
                                const std::string& label,
                                const std::string& evidence);

// Returns how sure a rule is about data that has stood for this long: a long step, or data that was
// lost once, would have gone on by then.
Confidence sureness_by_age(std::int64_t age_ms);
// Returns the same for NCCL's data; if its age is not known, by whether all waiters stood at the
// same place in all samples.
Confidence sureness_of_stall(const RuleInput& input,
                             std::int64_t age_ms,
                             const std::vector<std::size_t>& waiters);

}  // namespace oddrank::aggregate
