// A wait-for graph with three sorts of nodes, and nothing else of a job.
//
// A node without targets stands for itself: it may go on whenever it likes. (AND-OR wait-for graphs
// as in MUST, and a third sort for waits whose holder is one of several.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/solver/graph_algorithms.h"

namespace oddrank::aggregate {

enum class Join : std::uint8_t {
  kAll = 0,  // goes on when all of its targets have gone on
  kAny,      // when any of them has
  kOneOf,    // when a certain one of them has; it is not known which
};

// Whether something other than its targets may hold a node.
enum class Unknown : std::uint8_t {
  kNobody = 0,
  kInside,   // something of its own, which no other node can end
  kAnybody,  // something outside of the net, or any node that is `able`
};

struct WaitNet {
  struct Node {
    Join join = Join::kAll;
    Unknown unknown = Unknown::kNobody;
    // It may be an unknown holder, though nothing shows that it is.
    bool able = false;
    // It is not sure that it waits for its targets: a circle through it is possible, no more.
    bool loose = false;
    std::uint32_t owner = 0;  // the node to name if this one is the cause: itself, or a rank
  };

  std::vector<Node> nodes;
  Adjacency out;

  std::size_t add(Join join);
  void wait(std::size_t from, std::size_t to) { add_target(out, from, to); }
};

// Returns the index of the new node.
inline std::size_t WaitNet::add(Join join) {
  nodes.push_back({join, Unknown::kNobody, false, false, static_cast<std::uint32_t>(nodes.size())});
  out.emplace_back();
  return nodes.size() - 1;
}

}  // namespace oddrank::aggregate
