// Every rank was read, every member of every group in question is inside its call, and no rank
// stands out: the cause must be the network, the fabric or the device. Names no rank.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate/evidence/odd_devices.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/needed_nodes.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

bool is_complete(const RuleInput& input, const Slot& slot) {
  if (slot.mixed) {
    return false;
  }
  return (slot.membership != Membership::kUnknown && is_clear(slot) && slot.absent.empty()) ||
         slot.inside.size() == input.view.ranks().size();
}

std::string inside_words(const RuleInput& input, const Slot& slot) {
  const std::size_t total = input.view.ranks().size();
  const bool roots_unknown = slot.root < 0 && lets_some_leave(slot);
  return fmt::format(
      "{} inside of {} and none stands out: the cause lies below the host (network, fabric or "
      "device){}",
      slot.inside.size() == total
          ? fmt::format("all {} are", count_of(total, "rank"))
          : fmt::format("all {}members ({}) are",
                        slot.membership == Membership::kAssumed ? "known " : "",
                        ranks_words(input, slot.inside)),
      slot.words, roots_unknown ? ", or they have given different roots" : "");
}

// Some members have left the call, or do not wait for its end.
std::string not_ended_words(const RuleInput& input, const Slot& slot) {
  return fmt::format(
      "{} inside of {}, and the other members have made their call at this number: the cause lies "
      "below the host (network, fabric or device), or the calls differ (operation, size, type or "
      "root)",
      ranks_words(input, slot.inside) + (slot.inside.size() == 1 ? " is" : " are"), slot.words);
}

// Returns "; NCCL's data stand at the GPU of rank 3 or on the link rank 3 - rank 4"; "" if that is
// not known.
std::string stalls_words(const RuleInput& input) {
  constexpr std::size_t kMaxShown = 3;
  std::string words;
  const auto& stalls = input.graph.unsure_stalls;
  for (std::size_t i = 0; i < std::min(stalls.size(), kMaxShown); ++i) {
    words += (i == 0 ? "; NCCL's data stand " : " or ") + stall_place(input.view, stalls[i]);
  }
  return stalls.size() > kMaxShown ? words + " or elsewhere" : words;
}

bool is_in_network(const RuleInput& input) {
  return std::ranges::any_of(input.graph.unsure_stalls, [](const ProxyStall& stall) {
    return stall.kind == ProxyStall::Kind::kNetwork;
  });
}

// Returns the hosts at which NCCL's data stand, if that is one place other than a link.
std::vector<SuspectHost> stalled_hosts(const RuleInput& input) {
  const auto& stalls = input.graph.unsure_stalls;
  std::vector<SuspectHost> suspects;
  if (stalls.size() != 1 || stalls.front().kind == ProxyStall::Kind::kLink) {
    return suspects;
  }
  std::set<std::string> hosts;
  for (const std::size_t at : stalls.front().ranks) {
    if (const std::string& host = input.rank(at).host; hosts.insert(host).second) {
      suspects.push_back({host, stalls.front().channels});
    }
  }
  return suspects;
}

// Returns what the connections between the ranks show, with "; " before it; "" if none are known.
std::string links_words(const RuleInput& input) {
  if (!input.graph.links.empty()) {
    return fmt::format("; TCP gets nothing through between {}, which the call does not use",
                       link_words(input.view, input.graph.links.front()));
  }
  const std::vector<UnreadData> unread = find_unread_data(input.view);
  if (!unread.empty()) {
    const UnreadData& first = unread.front();
    return fmt::format("; the process of {} does not read what {} sends to it",
                       JobView::name(input.rank(first.to)), ranks_words(input, {first.from}));
  }
  const auto& processes = input.view.capture().processes;
  const bool any = std::ranges::any_of(processes, [&input](const auto& process) {
    return std::ranges::any_of(process.connections,
                               [&input](const snapshot::Connection& connection) {
                                 return input.view.has_other_end(connection);
                               });
  });
  return any ? "; no TCP connection between the ranks is stuck" : "";
}

// Returns a call that all its members have entered, if each rank waits in such a call, or for ranks
// that wait there; null if some rank is elsewhere, or a link or a device is known to hold them up.
const Slot* complete_call(const RuleInput& input) {
  const auto& ranks = input.view.ranks();
  // A recorder shows that all members have made their call, whatever other ranks do.
  const bool unread = !input.view.only_recorded() && !input.view.all_read();
  const bool all_inside = std::ranges::all_of(ranks, [](const RankView& rank) {
    return rank.presence == Presence::kRecorded || takes_part(rank);
  });
  if (ranks.size() < 2 || !needed_nodes(input, NodeKind::kLink).empty() ||
      !input.graph.devices.empty() || !all_inside || unread || input.graph.slots.empty()) {
    return nullptr;
  }
  // Each rank must wait for ranks that wait, or be in a call that all members have entered.
  const auto is_whole = [&input](const Slot& slot) { return is_complete(input, slot); };
  const auto complete = std::ranges::find_if(input.graph.slots, is_whole);
  const bool unknown_slot = std::ranges::any_of(input.graph.slots, [&](const Slot& slot) {
    return slot.membership == Membership::kUnknown && !is_whole(slot);
  });
  if (complete == input.graph.slots.end() || !input.blame.circles.empty() || unknown_slot) {
    return nullptr;
  }
  return &*complete;
}

}  // namespace

std::vector<Finding> below_host(const RuleInput& input) {
  const Slot* complete = complete_call(input);
  if (complete == nullptr) {
    return {};
  }
  const auto& ranks = input.view.ranks();
  const auto still = static_cast<std::size_t>(
      std::ranges::count_if(ranks, [](const RankView& rank) { return rank.motion.still(); }));
  const bool measured =
      std::ranges::all_of(ranks, [](const RankView& rank) { return rank.motion.measured; });
  if (measured && still * 2 <= ranks.size()) {
    return {};  // they move
  }
  // Ranks meet in a store. If all known ranks have come, the store waits for more of them, or they
  // are at different stores.
  if (complete->kind == snapshot::CallKind::kRendezvous) {
    return {};
  }
  Finding finding;
  finding.kind = Kind::kBelowHost;
  // Equal lines may be from different iterations; only numbers settle it.
  finding.confidence =
      measured && complete->sequence >= 0 && complete->membership != Membership::kAssumed
          ? Confidence::kLikely
          : Confidence::kPossible;
  // A call that has ended on one rank, and not on the others, may differ on that rank.
  if (!complete->beside.empty()) {
    finding.confidence = Confidence::kPossible;
  }
  finding.summary =
      complete->beside.empty() ? inside_words(input, *complete) : not_ended_words(input, *complete);
  finding.summary += stalls_words(input) + failed_gpu_words(input.view) + links_words(input);
  finding.suspect_hosts = stalled_hosts(input);
  finding.advice = {"ask the collective library: NCCL_DEBUG=INFO, ncclras, flight-recorder dumps",
                    "look at link and error counters of the NICs, and for Xid errors in dmesg",
                    "oddrank report --folded shows whether a helper thread differs on one rank"};
  if (is_in_network(input)) {
    finding.advice.insert(finding.advice.begin(),
                          "NCCL_COLLNET_ENABLE=0 shows whether it is the switches' part (SHARP): "
                          "look at the log of sharp_am");
  }
  finding.disproves = {"a rank with a smaller sequence number: then it is skipped_collective"};
  finding.weakness = "sequence numbers are not known: ranks may be in different iterations";
  return {finding};
}

}  // namespace oddrank::aggregate
