// The waits of calls and ranks for what is below the host: links and GPUs.
#include <algorithm>
#include <string>
#include <utility>

#include "aggregate/evidence/graph_builder.h"
#include "aggregate/evidence/odd_devices.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::aggregate {

using snapshot::CollectiveCall;
using snapshot::ThreadCapture;

namespace {

bool is_in_device_call(const JobView& view, const ThreadCapture& thread) {
  const auto frames = view.model().all_frames(thread.samples.back());
  return std::ranges::any_of(frames, [&view](snapshot::FrameId id) {
    const snapshot::Frame& frame = view.capture().tables.frame(id);
    const snapshot::Library library = snapshot::library_of(view.text(frame.file));
    return frame.kind == snapshot::FrameKind::kNative &&
           (snapshot::is_driver(library) || library == snapshot::Library::kNccl ||
            view.text(frame.function).find("ProcessGroupNCCL") != std::string_view::npos);
  });
}

// Returns whether one end is in a call of NCCL that sends by RDMA adapters: then a stuck TCP
// connection belongs to another library.
bool goes_by_adapters(const JobView& view, const Slot& slot, const StuckLink& link) {
  return std::ranges::any_of(link.ends, [&](const StuckLink::End& end) {
    const RankView& rank = view.rank(end.rank);
    if (rank.process == nullptr || rank.decider == nullptr ||
        std::ranges::find(slot.inside, end.rank) == slot.inside.end()) {
      return false;
    }
    const bool any =
        !rank.process->heads.empty() ||
        std::ranges::any_of(rank.process->proxies, [&view](const snapshot::ProxyTransfer& row) {
          return row.network != snapshot::StringId{} && !is_over_sockets(view, row);
        });
    return any && is_in_device_call(view, *rank.decider);
  });
}

// Returns whether one of the ranks is among the others, which are sorted.
bool has_any(const std::vector<std::size_t>& ranks, const std::vector<std::size_t>& sorted) {
  return std::ranges::any_of(
      ranks, [&sorted](std::size_t rank) { return std::ranges::binary_search(sorted, rank); });
}

}  // namespace

// Returns whether the rank, in no collective, waits for the other end of the link.
bool GraphBuilder::needs_link(std::size_t at, const StuckLink& link) const {
  const RankView& rank = view_.rank(at);
  const std::size_t other = link.ends[0].rank == at ? link.ends[1].rank : link.ends[0].rank;
  if (!takes_part(rank)) {
    const auto& targets = graph_.net.out[at];
    return rank.decider != nullptr && std::ranges::find(targets, other) != targets.end();
  }
  const CollectiveCall& call = *rank.decider->call;
  if (!is_transfer(call)) {
    return false;
  }
  const std::vector<std::int32_t> peers = peers_of(view_, call);
  return std::ranges::find(peers, view_.rank(other).rank) != peers.end();
}

// Makes the node wait for the link, beside its other waits.
void GraphBuilder::wait_also(std::size_t node, std::size_t link, const Said& said) {
  WaitNet& net = graph_.net;
  if (net.nodes[node].join != Join::kAll || net.nodes[node].unknown != Unknown::kNobody) {
    const auto targets = std::exchange(net.out[node], {});
    const std::size_t before = add_choice(node, net.nodes[node].join);
    net.nodes[before].unknown = std::exchange(net.nodes[node].unknown, Unknown::kNobody);
    net.nodes[before].owner = net.nodes[node].owner;
    net.out[before] = targets;
    net.nodes[node].join = Join::kAll;
  }
  this->link(node, link, said);
}

void GraphBuilder::wait_in_calls(std::size_t link,
                                 const Said& said,
                                 const std::function<bool(const Slot&)>& is_meant) {
  for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
    if (graph_.nodes[at].kind == NodeKind::kSlot &&
        is_meant(graph_.slots[graph_.nodes[at].index])) {
      wait_also(at, link, said);
    }
  }
}

void GraphBuilder::add_links() {
  for (std::size_t i = 0; i < graph_.links.size(); ++i) {
    const StuckLink& link = graph_.links[i];
    const std::size_t node =
        add_node({NodeKind::kLink, static_cast<std::uint32_t>(i), nullptr, nullptr});
    const std::string evidence = link_evidence(link);
    const Said said{"a link that does not carry", evidence, HowKnown::kKernel};
    wait_in_calls(node, said, [&](const Slot& slot) {
      return is_between_members(slot, link) && !goes_by_adapters(view_, slot, link);
    });
    for (const StuckLink::End& end : link.ends) {
      if (needs_link(end.rank, link)) {
        wait_also(end.rank, node, said);
      }
    }
  }
}

// Returns the node of the link, which the kernel may have reported as well.
std::size_t GraphBuilder::link_node(StuckLink link) {
  const auto ends = std::minmax({link.ends[0].rank, link.ends[1].rank});
  for (std::size_t at = view_.ranks().size(); at < graph_.nodes.size(); ++at) {
    if (graph_.nodes[at].kind == NodeKind::kLink) {
      const StuckLink& known = graph_.links[graph_.nodes[at].index];
      if (std::minmax({known.ends[0].rank, known.ends[1].rank}) == ends) {
        return at;
      }
    }
  }
  graph_.links.push_back(std::move(link));
  return add_node(
      {NodeKind::kLink, static_cast<std::uint32_t>(graph_.links.size() - 1), nullptr, nullptr});
}

void GraphBuilder::add_stalls() {
  ProxyWaits found = find_proxy_waits(view_);
  const auto is_at_device = [this](std::size_t at) {
    const ThreadCapture* decider = view_.rank(at).decider;
    return decider != nullptr && decider->wait.on == snapshot::WaitOn::kDevice;
  };
  for (const std::size_t at : found.waiting) {
    graph_.in_call[at] = graph_.in_call[at] || is_at_device(at);
  }
  for (ProxyStall& stall : found.stalls) {
    const bool is_link = stall.kind == ProxyStall::Kind::kLink;
    const bool is_gpu = !is_link && stall.kind != ProxyStall::Kind::kNetwork;
    // The stall is at one of these GPUs, and only one has failed: that one.
    if (const std::size_t failed = is_gpu ? rank_of_failed_gpu(view_, stall.ranks) : JobView::kNone;
        failed != JobView::kNone && stall.ranks.size() > 1) {
      stall.ranks = {failed};
      stall.by_error = true;
    }
    if (!stall.sure || !(is_link || (is_gpu && stall.ranks.size() == 1))) {
      graph_.unsure_stalls.push_back(std::move(stall));
      continue;
    }
    const std::vector<std::size_t> waiters = stall.waiters;
    std::string evidence;
    std::size_t node = 0;
    if (is_link) {
      StuckLink link = stuck_link_of(view_, stall);
      evidence = link_evidence(link);
      node = link_node(std::move(link));
    } else {
      evidence = device_evidence(stall);
      node = add_node(
          {NodeKind::kDevice, static_cast<std::uint32_t>(graph_.devices.size()), nullptr, nullptr});
      show(node, stall.ranks.front(), {"its rank", evidence, HowKnown::kMemory}, false);
      graph_.devices.push_back(std::move(stall));
    }
    const Said said{is_link ? "a link that does not carry" : "a GPU that does not go on", evidence,
                    HowKnown::kMemory};
    wait_in_calls(node, said, [&](const Slot& slot) { return has_any(slot.inside, waiters); });
    for (const std::size_t at : waiters) {
      if (is_at_device(at)) {
        wait_also(at, node, said);
      }
    }
  }
}

}  // namespace oddrank::aggregate
