// Which ranks a rule may speak about, by the theory of blame (blame.h), the strongest basis first.
//
// While ranks wait for a root, that root explains them: that other ranks of the same group stand in
// different calls is then a consequence, because rooted collectives let some members go early. A
// rank that waits for somebody unknown is blamed only if no root explains the waiting ranks. Nor is
// it blamed if the key or file that it waits for is named after another rank, or if a circle of
// other ranks would be left. One of several such ranks is possible if it stopped long before all
// other ranks. If no wait leads to anybody, the one rank that does not wait while all others do is
// possible, no more; so is the one that is elsewhere, and in no call, while all others are at one
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/blame/basis.h"

namespace oddrank::aggregate {

struct RuleInput;

// Returns the suspects, the strongest basis first; one entry at least, which may be empty.
// `input`: complete but for its suspects.
std::vector<Suspects> find_suspects(const RuleInput& input);

}  // namespace oddrank::aggregate
