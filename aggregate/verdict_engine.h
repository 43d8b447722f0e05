// Asks all rules and decides. The finding on the strongest basis wins (Basis in blame/suspects.h);
// among equals, the one that explains most waiting ranks, then the surest. Findings about other
// ranks on the same basis are further stories (`also`); the rest are alternatives, each with the
// reason why it lost.
#pragma once

#include "aggregate/rules/rule.h"
#include "aggregate/verdict.h"

namespace oddrank::aggregate {

// Returns the verdict; kUnknown if no rule finds anything.
Verdict decide(const RuleInput& input);

}  // namespace oddrank::aggregate
