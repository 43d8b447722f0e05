// The theory of blame: what each rank is blocked on, and which ranks hold others up, before any
// rule says why.
//
// A rank that waits for ranks is never blamed, except as a
// member of a circle that nothing leaves. A *root* can move by itself, or is held by something of
// its own: it runs, sleeps, is dead, stopped or at a prompt, or waits for its own child, file or
// service. A rank whose holder is unknown is neither guilty nor excused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/solver/solve.h"

namespace oddrank::aggregate {

struct RuleInput;

enum class BlockedOn : std::uint8_t {
  kRanks = 0,   // known ones
  kCall,        // in which it is unknown for which ranks it waits
  kSomebody,    // an unknown holder, which may be another rank
  kOwnProcess,  // an unknown holder in its own process, or its device
  kClock,       // it sleeps for a short time again and again, and may ask for something in between
  kUnknown,     // not read, or in a library that could not be read
  kNoRank,      // it is a root
};

// Ranks that wait for each other.
struct Circle {
  std::vector<std::size_t> ranks;  // indices, ascending
  std::vector<const Slot*> slots;  // the calls that they wait in, in the order of the graph's
  std::vector<std::size_t> nodes;  // of the net
  bool certain = false;            // whichever the unknown holders are
  bool closed = false;             // no wait leads out of it

  // Returns whether the deciding thread of the rank, one of `ranks`, is in it; false: only another
  // thread of the rank is.
  bool has_speaker(std::size_t rank) const;
};

struct Blame {
  std::vector<BlockedOn> blocked;  // by rank
  Solution solution;
  std::vector<Circle> circles;
  std::vector<std::size_t> needed;  // by cause: ranks that need it, whichever the unknown holders
                                    // are
  // By rank: number of ranks that wait for it, whichever the unknown holders are. 0: none, or only
  // a guess says so.
  std::vector<std::size_t> waiters;
  // By rank (index): its process or coroutine that holds up others, whatever the rank itself waits
  // for. Into WaitGraph::nodes.
  std::map<std::size_t, std::size_t> by_part;
  // By rank: some ranks wait for one of several ranks, unknown which, and this is one of those.
  std::vector<bool> one_of_several;

  bool is_sure(std::size_t rank) const { return waiters[rank] > 0; }
};

// Returns whether the kernel says that the rank cannot go on, or could not.
bool is_held(const RuleInput& input, const RankView& rank);

// Returns what a rank (index of JobView::ranks()) is blocked on.
BlockedOn blocked_on(const RuleInput& input, std::size_t at);

// Finds what each rank is blocked on, and the causes. `graph`: the input's; marks in its net which
// nodes may be unknown holders.
Blame find_blame(const RuleInput& input, WaitGraph& graph);

// Returns the ranks (indices, ascending) to which the nodes of a cause belong.
std::vector<std::size_t> ranks_of_cause(const WaitGraph& graph, const Cause& cause);

// Returns the calls of closed circles, in the order of WaitGraph::slots.
std::vector<const Slot*> closed_slots(const RuleInput& input);

// Returns the ranks of a circle that every way round leads through: if any one of them went on,
// there would be no circle. Empty if there is no such rank, or the circle has more than kMaxCut
// ranks (graph_algorithms.h).
std::vector<std::size_t> cuts_of(const WaitGraph& graph, const Circle& circle);

}  // namespace oddrank::aggregate
