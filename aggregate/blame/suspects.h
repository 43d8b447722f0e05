// Which ranks a rule may speak about, by the theory of blame (blame.h), the strongest basis first.
//
// While ranks wait for a root, the root explains them. If other ranks of the same group stand in
// different calls, that is a consequence: rooted collectives let some members go early. A rank
// whose holder is unknown is blamed only if no root explains the waiting ranks; and not if the key
// or file that it waits for is named after another rank, or if a circle of other ranks would be
// left. One of several such ranks is possible if it stopped long before all other ranks. If no wait
// leads to any rank, the only rank that does not wait is possible, no more; so is the only rank
// that is elsewhere, and in no call, while all others are at one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oddrank::aggregate {

struct RuleInput;

// From the weakest. A finding is overruled by one on a stronger basis, however sure it is.
enum class Basis : std::uint8_t {
  kNothing = 0,
  kNobody,  // every rank is where it should be
  kOdd,     // no wait leads to the rank, but it is the only one that does not wait
  kAlone,   // its own place explains it, although no rank is seen to wait for it
  kVague,   // ranks wait for it, and its own holder is unknown: neither guilt nor alibi
  kRoot,    // ranks wait for it, and it waits for none; or ranks in a circle that nothing leaves
  kMotion,  // the job moves
};

struct Suspects {
  Basis basis = Basis::kNothing;
  std::vector<std::size_t> ranks;  // indices of JobView::ranks(), ascending
  // One of several candidates, chosen because it stopped long before all other ranks.
  bool first_to_stop = false;
};

// Returns the suspects, the strongest basis first; one entry at least, which may be empty.
// `input`: complete but for its suspects.
std::vector<Suspects> find_suspects(const RuleInput& input);

}  // namespace oddrank::aggregate
