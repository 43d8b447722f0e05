// Which nodes hold others up in a small net, found by trying every choice that its nodes may make:
// the truth with which aggregate/solver/solve.h is compared. Slow and plain, and without any code
// of the solver.
//
// A world is a net whose choices are made: which target a kOneOf node waits for; whether an unknown
// holder is the one that lets a node go on; whether a loose node waits at all. A node without
// targets goes on in a world if it is let, the others as their targets do.
//
// A circle stands in a world: nodes of one strongly connected component that never go on there,
// though everything outside of the component has gone on. It is certain if some of its nodes stand
// in every world; then it is those.
//
// A node needs a cause in a world if it never goes on there, though all other causes are over:
// other nodes without targets have gone on, and other circles that stand there are broken. Such a
// circle goes on as one, when all has that its nodes wait for besides each other. Loose nodes wait
// here, whatever the world: they matter to circles only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/solver/wait_net.h"

namespace oddrank::aggregate {

using NodeSet = std::uint32_t;  // a bit for each node

inline constexpr std::size_t kMaxTriedNodes = 16;

inline NodeSet bit_of(std::size_t node) {
  return NodeSet{1} << node;
}

struct TriedCause {
  NodeSet nodes = 0;  // the owner, or the members of the circle
  bool circle = false;
  bool certain = true;
  Unknown unknown = Unknown::kNobody;  // the least of those of its ends
  NodeSet ends = 0;                    // the nodes without targets whose owner is meant
  NodeSet component = 0;               // of a circle
  // Which nodes need it in every world, which in some world, and from which a path leads to it.
  NodeSet always = 0;
  NodeSet ever = 0;
  NodeSet behind = 0;
  // Which need it in every world even if circles hold up less than they do: nodes that are in one
  // in some worlds only have gone on if they wait for one of several, or loosely, and a circle that
  // is certain waits for nothing in its component. The same as `always` in nets without circles.
  NodeSet plainly = 0;
};

struct Tried {
  std::vector<TriedCause> causes;
  NodeSet ever_circular = 0;   // the nodes that are in a circle in some world
  bool has_way_round = false;  // from a node back to it
};

// The net must not have more than kMaxTriedNodes nodes.
std::size_t count_worlds(const WaitNet& net);
Tried try_all_worlds(const WaitNet& net);

}  // namespace oddrank::aggregate
