// The one solver behind all verdicts: which nodes of a net hold which others up.
//
// It asks what could go on if what it waits for went on. What nothing holds is a cause; so is a
// circle, the nodes that would still stand if everything outside of it went on. It asks twice:
// optimistically (a holder that is one of several is the one that goes on; an unknown one is
// outside of the net) and pessimistically (it is the one that does not; it is any node that is able
// to be). What holds in both is sure.
//
// Proved against an exhaustive search over all choices: tests/unit/aggregate/solver/solve_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/solver/cause_sets.h"
#include "aggregate/solver/wait_net.h"

namespace oddrank::aggregate {

// What else may be behind a node whose holder is unknown.
enum class Rivals : std::uint8_t {
  kNone = 0,  // nobody: all able nodes need this one, or its holder is not unknown
  kOpen,      // only others whose holders are unknown as well
  kFree,      // some node that may go on, or that stands for another reason
};

struct Cause {
  std::vector<std::uint32_t> nodes;  // ascending; one, unless it is a circle
  bool circle = false;
  bool certain = true;  // of a circle: whichever the unknown holders are
  Unknown unknown = Unknown::kNobody;
  Rivals rivals = Rivals::kNone;
};

struct Solution {
  std::vector<Cause> causes;
  CauseSets sets;
  // By node: the causes that it needs to end in any case, and those that it may need.
  std::vector<CauseSetId> sure;
  std::vector<CauseSetId> may;
  // By node: it may need different causes, depending on which of several holders is the one.
  std::vector<bool> unclear;

  bool is_sure(std::size_t node, CauseId cause) const { return sets.has(sure[node], cause); }
  bool is_possible(std::size_t node, CauseId cause) const { return sets.has(may[node], cause); }
};

Solution solve(const WaitNet& net);

}  // namespace oddrank::aggregate
