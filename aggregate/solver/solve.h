// The one solver behind all verdicts: which nodes of a net hold which others up.
//
// A node can go on if what it waits for goes on. A cause is a node that nothing holds, or a circle:
// nodes that would still stand if everything outside of them went on. There are two runs. The
// optimistic one assumes that of several possible holders the right one goes on, and that unknown
// holders are outside of the net; the pessimistic one, that the right one does not go on, and that
// unknown holders are any nodes that are `able`. What both find is sure.
//
// Proved against an exhaustive search over all choices: tests/unit/aggregate/solver/solve_test.cc.
//
// Sets of causes, each kept once: thousands of nodes wait for the same ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "aggregate/solver/wait_net.h"

namespace oddrank::aggregate {

using CauseId = std::uint32_t;
using CauseSetId = std::uint32_t;

class CauseSets {
 public:
  static constexpr CauseSetId kNone = 0;                             // the empty set
  static constexpr CauseSetId kEvery = static_cast<CauseSetId>(-1);  // of all causes there may be

  // No real job needs more numbers than this in all sets together. Beyond that, a union is one of
  // its parts, and different sets have nothing in common.
  CauseSets() : CauseSets(std::size_t{1} << 24) {}
  explicit CauseSets(std::size_t max_kept) : sets_(1), max_kept_(max_kept) {}

  CauseSetId only(CauseId cause) { return intern({cause}); }
  CauseSetId unite(CauseSetId a, CauseSetId b);
  CauseSetId unite(std::span<CauseSetId> sets);  // leaves `sets` in any state
  CauseSetId common(CauseSetId a, CauseSetId b);
  // Returns the causes, ascending. Precondition: not kEvery.
  const std::vector<CauseId>& of(CauseSetId id) const { return sets_[id]; }
  bool has(CauseSetId id, CauseId cause) const;
  std::size_t size() const { return sets_.size(); }

 private:
  using Pair = std::pair<CauseSetId, CauseSetId>;

  CauseSetId intern(std::vector<CauseId> causes);

  std::vector<std::vector<CauseId>> sets_;
  std::map<std::vector<CauseId>, CauseSetId> ids_;
  std::map<Pair, CauseSetId> unions_;
  std::size_t kept_ = 0;
  std::size_t max_kept_;
};

// What else may hold up the waiters of a node whose holder is unknown.
enum class Rivals : std::uint8_t {
  kNone = 0,  // nothing: all able nodes need this one, or its holder is known
  kOpen,      // only other nodes whose holders are unknown as well
  kFree,      // some node that may go on, or that stands for another reason
};

struct Cause {
  std::vector<std::uint32_t> nodes;  // ascending; one, unless it is a circle
  bool circle = false;
  bool certain = true;  // of a circle: it is one whichever the unknown holders are
  Unknown unknown = Unknown::kNobody;
  Rivals rivals = Rivals::kNone;
};

struct Solution {
  std::vector<Cause> causes;
  CauseSets sets;
  // By node: the causes that it certainly needs to end, and those that it may need.
  std::vector<CauseSetId> sure;
  std::vector<CauseSetId> may;
  // By node: it may need different causes, depending on which of several nodes is its holder.
  std::vector<bool> unclear;

  bool is_sure(std::size_t node, CauseId cause) const { return sets.has(sure[node], cause); }
  bool is_possible(std::size_t node, CauseId cause) const { return sets.has(may[node], cause); }
  // Returns the nodes below `count` that certainly need the cause, without its own.
  std::vector<std::size_t> waiters(CauseId cause, std::size_t count) const;
};

// Finds the causes of the net, and which nodes need which of them.
Solution solve(const WaitNet& net);

}  // namespace oddrank::aggregate
