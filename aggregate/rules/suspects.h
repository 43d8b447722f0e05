// The theory of blame: which ranks may hold the job up, before any rule says why.
//
// Every rank stands in one of five ways. A rank that waits for ranks is never blamed, except as a
// member of a circle that nothing leaves (WaitGraph::closed). A *root* can move by
// itself, or is held by something of its own: it runs, sleeps, is dead, stopped or at a prompt, or
// waits for its own child, file or service. While ranks wait for a root, that root explains them;
// that other ranks of the same group stand in different calls is then a consequence, because rooted
// collectives let some members go early. A rank that waits for somebody unknown is blamed only if
// no root explains the waiting ranks: its wait is neither guilt nor alibi. Nor is it blamed if the
// key or file that it waits for is named after another rank, or if a circle of other ranks would be
// left. One of several such ranks is possible if it stopped long before all other ranks. If no
// wait leads to anybody, the one rank that does not wait while all others do is possible, no more;
// so is the one that is elsewhere, and in no call, while all others are at one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/rules/ground.h"

namespace oddrank::aggregate {

struct RuleInput;

enum class Stand : std::uint8_t {
  kWaits = 0,  // for ranks that are known
  kInCall,     // in a call of which it is unknown whom it waits for
  kVague,      // for somebody unknown, or for its device
  kUnknown,    // not read, or in a library that could not be read
  kRoot,
};

// Returns how a rank (index of JobView::ranks()) stands.
Stand stand_of(const RuleInput& input, std::size_t at);

// Returns the suspects, the strongest ground first; one entry at least, which may be empty.
// `input`: complete but for its suspects.
std::vector<Suspects> find_suspects(const RuleInput& input);

}  // namespace oddrank::aggregate
