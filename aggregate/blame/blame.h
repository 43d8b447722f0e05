// The theory of blame: what each rank is blocked on, and who holds whom up, before any rule says
// why.
//
// A rank that waits for ranks is never blamed, except as a
// member of a circle that nothing leaves. A *root* can move by itself, or is held by something of
// its own: it runs, sleeps, is dead, stopped or at a prompt, or waits for its own child, file or
// service. A rank that waits for somebody unknown is neither guilty nor excused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/solver/solve.h"

namespace oddrank::aggregate {

struct RuleInput;

enum class BlockedOn : std::uint8_t {
  kRanks = 0,   // that are known
  kCall,        // of which it is unknown for whom the rank waits there
  kSomebody,    // unknown, who may be another rank
  kOwnProcess,  // somebody unknown of its own process, or its device
  kClock,       // it sleeps for a short time again and again, and may ask for something in between
  kUnknown,     // not read, or in a library that could not be read
  kNoRank,      // it is a root
};

// Ranks that wait for each other.
struct Circle {
  std::vector<std::size_t> ranks;  // indices, ascending
  std::vector<const Slot*> slots;  // calls through which they do, in the order of the graph's
  std::vector<std::size_t> nodes;  // of the net
  bool certain = false;            // be the unknown holders whoever they may
  bool closed = false;             // no wait leads out of it

  // Returns whether the thread that speaks for the rank, one of `ranks`, is in it; false: another
  // thread of the rank is, whatever that one waits for.
  bool has_speaker(std::size_t rank) const;
};

struct Blame {
  std::vector<BlockedOn> blocked;  // by rank
  Solution solution;
  std::vector<Circle> circles;
  std::vector<std::size_t> needed;  // by cause: so many ranks need it, whoever the unknown ones are
  // By rank: so many ranks wait for it, whoever the unknown holders are. 0: none, or only a guess
  // says that they do.
  std::vector<std::size_t> waiters;
  // By rank (index): another process or a coroutine of it that holds up others, whatever the rank
  // itself waits for. Into WaitGraph::nodes.
  std::map<std::size_t, std::size_t> by_part;
  // By rank: it may be one of several for whom ranks wait, of which only one is the one.
  std::vector<bool> one_of_several;

  bool is_sure(std::size_t rank) const { return waiters[rank] > 0; }
};

// Returns whether the kernel says that the rank cannot go on, or could not.
bool is_held(const RuleInput& input, const RankView& rank);

// Returns what a rank (index of JobView::ranks()) is blocked on.
BlockedOn blocked_on(const RuleInput& input, std::size_t at);

// `graph`: the one of the input. Marks in its net who may hold what is not known.
Blame find_blame(const RuleInput& input, WaitGraph& graph);

// Returns the ranks (indices, ascending) to which the nodes of a cause belong.
std::vector<std::size_t> ranks_of_cause(const WaitGraph& graph, const Cause& cause);

// Returns the calls of closed circles, in the order of WaitGraph::slots.
std::vector<const Slot*> closed_slots(const RuleInput& input);

// Returns those ranks of a circle without any one of which there would be no circle: every way
// round leads through each of them, and the other ranks only wait beside it. Empty if the circle
// has no such rank, or more than kMaxCut ranks (graph_algorithms.h).
std::vector<std::size_t> cuts_of(const WaitGraph& graph, const Circle& circle);

}  // namespace oddrank::aggregate
