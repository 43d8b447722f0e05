// Builds a WaitGraph (wait_graph.h): each of its parts adds the waits of one kind. Private to
// aggregate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate/evidence/holders.h"
#include "aggregate/evidence/links.h"
#include "aggregate/evidence/store_keys.h"
#include "aggregate/evidence/wait_graph.h"

namespace oddrank::aggregate {

// A wait in words.
struct Said {
  std::string_view on;
  std::string_view evidence;
  HowKnown how = HowKnown::kMemory;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const JobView& view);
  WaitGraph run();

 private:
  std::size_t add_node(const GraphNode& node);
  std::size_t add_named(GraphNode node, std::string name);
  // Adds a way for the node to go on, in the net.
  std::size_t add_choice(std::size_t node, Join join);
  void show(std::size_t from, std::size_t to, const Said& said, bool assumed);
  // Shows the wait, and adds it to the net.
  void link(std::size_t from, std::size_t to, const Said& said, bool assumed = false);
  // Shows all waits; in the net, one of them counts (`join`): an unknown one, or the first to end.
  void link_some(std::size_t from, const std::vector<std::size_t>& to, const Said& said, Join join);

  void add_slot(std::size_t at);
  // Makes the slot's node wait for the members that have not entered. `unsure`: not all of them may
  // be needed.
  void add_absent(const Slot& slot, std::size_t node, bool unsure);
  // Adds the wait for the other side of a transfer, or for all possible ones.
  void add_peer(std::size_t at);
  // Returns whether both sides of one transfer are inside: then neither waits for the other's
  // program. Two that have stood there for long, with nothing below the host that holds them up, do
  // not match, although no tag or size that was read says so.
  bool is_matched(std::size_t at, std::size_t peer) const;
  // Adds the waits for the ranks that may run a function for this one.
  void add_servers(std::size_t at);
  // Adds the waits of servers and event loops for clients that do not wait for them.
  void add_listening();
  // Adds the waits of ranks that accept connections for ranks that do not wait for them.
  void add_accepting();
  // Adds the waits of ranks that take in what others send, if only one rank is left for which they
  // may wait: it does not wait for them, is not awaited otherwise, and does something else.
  void add_open();
  std::size_t only_rank_without_way(const std::vector<std::size_t>& distance) const;
  // Adds the waits of calls, and of ranks outside of collectives, for links that do not carry.
  void add_links();
  bool needs_link(std::size_t at, const StuckLink& link) const;
  // Adds the waits for links and GPUs that hold up NCCL's data.
  void add_stalls();
  std::size_t link_node(StuckLink link);
  void wait_also(std::size_t node, std::size_t link, const Said& said);
  void wait_in_calls(std::size_t link,
                     const Said& said,
                     const std::function<bool(const Slot&)>& is_meant);

  // Adds the wait for the rank that has to set a key, or whose number is in a key's or file's name.
  void add_named_rank(std::size_t at);
  void may_wait_for(std::size_t at, std::size_t to, const Said& said, Join join);

  bool add_keepers(std::size_t node,
                   std::size_t rank,
                   const snapshot::ThreadCapture& thread,
                   const snapshot::ProcessCapture& server);
  // Adds the holders of a thread's wait, their holders and so on, all as parts of `rank`; then the
  // resource at the end.
  void add_holders(std::size_t node,
                   std::size_t rank,
                   const snapshot::ProcessCapture& process,
                   const snapshot::ThreadCapture& thread);
  void add_holder(std::size_t node, std::size_t rank, const Holders& holders, const Holder& holder);
  std::size_t node_of(std::size_t rank, const Holders& holders, const Holder& holder);
  // `thread`: of the process; null: the process itself.
  std::size_t node_at(const snapshot::ProcessCapture& process,
                      const snapshot::ThreadCapture* thread);
  void expand(std::size_t node, std::size_t rank, const snapshot::ThreadCapture* thread);
  void add_resource(std::size_t node,
                    const snapshot::ProcessCapture& process,
                    const snapshot::ThreadCapture& thread);
  // A process belongs to its rank if the rank waits for it as well, or if it has taken a lock. Any
  // other process may serve any rank that asks it.
  void settle_owners();
  // Returns whether the node is a process of another rank, which answers for it.
  bool is_of_another(std::size_t node, std::size_t rank) const;
  bool waits_for_others(std::size_t rank) const;
  std::string wait_evidence(const snapshot::ProcessCapture& process,
                            const snapshot::ThreadCapture& thread) const;

  const JobView& view_;
  StoreKeys store_keys_;
  WaitGraph graph_;
  std::map<std::pair<const snapshot::ProcessCapture*, const snapshot::ThreadCapture*>, std::size_t>
      known_nodes_;
  std::map<std::string, std::size_t> resource_nodes_;
  std::vector<std::pair<std::size_t, Holders>> listening_;    // ranks, and their possible clients
  std::vector<std::pair<std::size_t, std::size_t>> reached_;  // rank, node of a process
  std::vector<bool> is_expanded_;                             // by node
};

}  // namespace oddrank::aggregate
