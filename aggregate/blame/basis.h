// What a finding rests on, and the ranks about which it may speak. The theory behind it:
// blame/suspects.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oddrank::aggregate {

// From the weakest. A finding is overruled by one on a stronger basis, however sure it is.
enum class Basis : std::uint8_t {
  kNothing = 0,
  kNobody,  // everybody is where everybody should be
  kOdd,     // no wait leads to the rank, but it is the only one that does not wait
  kAlone,   // its own place explains it, although nobody is seen to wait for it
  kVague,   // ranks wait for it, and it waits for somebody unknown: neither guilt nor alibi
  kRoot,    // ranks wait for it, and it waits for none; or ranks in a circle that nothing leaves
  kMotion,  // the job moves
};

struct Suspects {
  Basis basis = Basis::kNothing;
  std::vector<std::size_t> ranks;  // indices of JobView::ranks(), ascending
  // One of several candidates, chosen because it stopped long before all other ranks.
  bool first_to_stop = false;
};

}  // namespace oddrank::aggregate
