// What holds whom up in a small net, found by trying every choice that its nodes may make: the
// truth with which aggregate/solver/solve.h is compared. Slow and plain, and without any code of
// the solver.
//
// A world is a net whose choices are made: which target a kOneOf node waits for; whether an unknown
// holder is the one that lets a node go on; whether a loose node waits at all. A node without
// targets goes on in a world if it is let, the others as their targets do.
//
// A circle stands in a world: nodes of one strongly connected component that never go on there,
// though everything outside of the component has gone on. It is certain if it stands in every
// world.
//
// A node needs a cause in a world if it never goes on there, though all other causes are over:
// other nodes without targets have gone on, and so have nodes that are in a circle in some worlds
// only; a certain circle goes on as one when all has that its members wait for besides each other.
// Loose nodes wait here, whatever the world: they matter to circles only.
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
  NodeSet beyond = 0;                  // what the members of the circle wait for besides each other
  // Which nodes need it in every world (none, if it is a circle that is not certain), which in some
  // world, and from which ones a path leads to it.
  NodeSet always = 0;
  NodeSet ever = 0;
  NodeSet behind = 0;
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
