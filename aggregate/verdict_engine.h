// Asks all rules and decides. The surest finding wins; among equals, the one that explains most.
// The others stay as alternatives, each with the reason why it lost.
#pragma once

#include "aggregate/rules/rule.h"
#include "aggregate/verdict.h"

namespace oddrank::aggregate {

Verdict decide(const RuleInput& input);

}  // namespace oddrank::aggregate
