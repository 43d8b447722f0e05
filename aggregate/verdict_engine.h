// Asks all rules and decides. The finding on the strongest basis wins (rules/basis.h); among
// equals, the one that explains most waiting ranks, then the surest. Findings about other ranks on
// the same basis are stories of their own; the rest stay as alternatives, each with the reason why
// it lost.
#pragma once

#include "aggregate/rules/rule.h"
#include "aggregate/verdict.h"

namespace oddrank::aggregate {

Verdict decide(const RuleInput& input);

}  // namespace oddrank::aggregate
