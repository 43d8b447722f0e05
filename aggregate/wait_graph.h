// The wait-for graph of a job: from ranks through collectives to ranks, to processes, and to things
// outside of the job.
//
// Counting stacks shows which rank is different; this graph shows which one is responsible. A rank
// waits for its slot, a slot for those of its members that are not in it, a receiver for its
// sender, a rank for its child, a child for a file. Ranks that wait for no rank, while ranks wait
// for them, are the roots. A group whose members are not known yields no edge to any rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/graph_algorithms.h"
#include "aggregate/slots.h"
#include "aggregate/view/job_view.h"
#include "snapshot/intern_table.h"
#include "snapshot/tables.h"

namespace oddrank::aggregate {

enum class NodeKind : std::uint8_t { kRank = 0, kSlot, kProcess, kResource };

struct GraphNode {
  NodeKind kind = NodeKind::kRank;
  // Into JobView::ranks(), WaitGraph::slots or, if it is anything else, WaitGraph::names.
  std::uint32_t index = 0;
  const snapshot::ProcessCapture* process = nullptr;  // if it is a process
};

// A text of a graph. Thousands of ranks wait in the same words.
enum class GraphText : std::uint32_t {};

struct GraphEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  GraphText on{};
  GraphText evidence{};
  bool assumed = false;  // through a slot whose members are a guess
};

struct WaitGraph {
  std::vector<Slot> slots;
  std::vector<GraphNode> nodes;  // ranks first, in the order of JobView::ranks()
  std::vector<GraphEdge> edges;
  std::vector<std::string> names;  // of processes and resources
  snapshot::InternTable<std::string, std::string_view, GraphText, snapshot::StringHash> texts;
  Adjacency out;                       // targets by node
  Adjacency in;                        // sources by node
  std::vector<std::size_t> component;  // by node
  std::vector<std::size_t> component_size;
  std::vector<std::size_t> roots;    // awaited, and wait for no rank
  std::vector<bool> awaited;         // by rank: some rank waits for it
  std::vector<bool> guessed;         // by rank: awaited through an assumed edge
  std::vector<bool> shown;           // by rank: awaited through an edge with evidence
  std::vector<bool> may_have_left;   // by rank: in one of the guesses, it may have done its part
  std::vector<bool> waits_for_rank;  // by rank
  // By rank: in a call, but it is unknown for whom it waits (group unknown, or all are inside).
  std::vector<bool> opaque;
  // By rank: waits for others or for somebody who is no rank, whoever comes first; or for a thread
  // that does not speak for its rank (side_servers.h).
  std::vector<bool> may_be_woken;
  // Components (numbers) of at least two ranks that no wait leaves and in which everything is
  // known: all of their ranks were read, and all members of their slots. Only within these do
  // comparisons of calls show anything: a circle with a way out is a consequence of what is
  // outside.
  std::set<std::size_t> closed;

  const GraphEdge* edge(std::size_t from, std::size_t to) const;
  const std::string& text(GraphText id) const { return texts[id]; }
};

WaitGraph build_wait_graph(const JobView& view);

// Returns "rank 4 (n0, pid 3121)", "all_reduce in default group", "/data/train.bin", ...
std::string label_of(const JobView& view, const WaitGraph& graph, const GraphNode& node);

// Returns the ranks (indices) from which a path leads to `rank`, without `rank`.
std::vector<std::size_t> waiters_of(const WaitGraph& graph, std::size_t rank);

// Returns whether only a guess says that ranks wait for this one.
bool is_assumed(const WaitGraph& graph, std::size_t rank);

}  // namespace oddrank::aggregate
