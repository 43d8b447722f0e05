// The wait-for graph of a job: from ranks through collectives to ranks, to threads and processes,
// and to things outside of the job.
//
// Counting stacks shows which rank is different; this graph shows which one is responsible. A rank
// waits for its slot, a slot for its absent members, a receiver for its sender, a rank for its
// child, a child for a file. A group whose members are not known yields no edge to any rank. The
// same waits without words form a WaitNet (solver/wait_net.h), from which blame is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/evidence/holders.h"
#include "aggregate/evidence/links.h"
#include "aggregate/evidence/slots.h"
#include "aggregate/evidence/wait_end.h"
#include "aggregate/solver/graph_algorithms.h"
#include "aggregate/solver/wait_net.h"
#include "aggregate/view/job_view.h"
#include "snapshot/intern_table.h"
#include "snapshot/tables.h"

namespace oddrank::aggregate {

enum class NodeKind : std::uint8_t {
  kRank = 0,
  kSlot,
  kThread,
  kProcess,
  kResource,
  kLink,
  kDevice,
  kChoice,  // one of a node's ways to go on: only in the net, without words
};

// Returns whether no process can release it.
constexpr bool is_below_host(NodeKind kind) {
  return kind == NodeKind::kLink || kind == NodeKind::kDevice;
}

struct GraphNode {
  NodeKind kind = NodeKind::kRank;
  // Into JobView::ranks(), WaitGraph::slots, WaitGraph::links, WaitGraph::devices or, if it is
  // anything else, WaitGraph::names.
  std::uint32_t index = 0;
  const snapshot::ProcessCapture* process = nullptr;  // of a rank, a process or a thread
  const snapshot::ThreadCapture* thread = nullptr;    // a thread, or the one that speaks for a rank
};

// A text of a graph. Thousands of ranks wait in the same words.
enum class GraphText : std::uint32_t {};

struct GraphEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  GraphText on{};
  GraphText evidence{};
  HowKnown how = HowKnown::kKernel;
  bool assumed = false;  // one of several possible waits, or the members are a guess
};

struct WaitGraph {
  std::vector<Slot> slots;
  std::vector<StuckLink> links;
  std::vector<ProxyStall> devices;  // GPUs that take or give nothing
  // Not nodes: it is not known at which of these NCCL's data stand, or which GPU of a host it is.
  std::vector<ProxyStall> unsure_stalls;
  std::vector<GraphNode> nodes;  // ranks first, in the order of JobView::ranks()
  std::vector<GraphEdge> edges;
  std::vector<std::string> names;  // of threads, processes and resources
  snapshot::InternTable<std::string, std::string_view, GraphText, snapshot::StringHash> texts;
  Adjacency out;  // targets by node
  Adjacency in;   // sources by node

  WaitNet net;                      // of the same nodes, without waits for resources
  std::vector<WaitEnd> ends;        // by rank
  std::vector<bool> awaited;        // by rank: another one waits for it, perhaps only by a guess
  std::vector<bool> shown;          // by rank: another one waits for it, and not only by a guess
  std::vector<bool> waits;          // by rank: it waits for other ranks
  std::vector<bool> in_call;        // by rank: in a call, but it is not known for which ranks
  std::vector<bool> lacks_own_key;  // by rank: it waits for a key that it has to set itself

  const GraphEdge* edge(std::size_t from, std::size_t to) const;
  const std::string& text(GraphText id) const { return texts[id]; }
};

// Builds the graph. Borrows the view's capture.
WaitGraph build_wait_graph(const JobView& view);

// Returns the ranks that may be the other side of a transfer; for a one-sided call of MPI, the rank
// that has the lock, if it is known.
std::vector<std::int32_t> peers_of(const JobView& view, const snapshot::CollectiveCall& call);

// Returns "rank 4 (n0, pid 3121)", "all_reduce in default group", "/data/train.bin", ...
std::string label_of(const JobView& view, const WaitGraph& graph, const GraphNode& node);

// Returns the ranks (indices) from which a path leads to `rank`, without `rank`.
std::vector<std::size_t> waiters_of(const WaitGraph& graph, std::size_t rank);

}  // namespace oddrank::aggregate
