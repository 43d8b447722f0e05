#include "aggregate/evidence/links.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/span_words.h"

namespace oddrank::aggregate {

using snapshot::address_part;
using snapshot::port_part;
using snapshot::ProcessCapture;
using snapshot::Transfer;
using snapshot::TransferTrouble;

namespace {

using Pair = std::pair<std::size_t, std::size_t>;

// Returns the unread ranks if all of them are on one host; else none.
std::vector<std::size_t> unread_ranks(const JobView& view) {
  std::vector<std::size_t> unread;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.rank(at);
    if (rank.presence != Presence::kUnread || rank.process != nullptr) {
      continue;
    }
    unread.push_back(at);
    if (rank.host.empty() || rank.host != view.rank(unread.front()).host) {
      return {};
    }
  }
  return unread;
}

// The ranks at each address of the job's network, as far as their sockets show it.
class Addresses {
 public:
  explicit Addresses(const JobView& view);

  // Returns the rank that a connection to the address would reach: the only one there, or the only
  // one there that listens at that port; kNone if unknown.
  std::size_t rank_at(std::string_view address) const;

  // Returns the ranks that were not read, if all of them are on one host that gave no answer, and
  // no known host has the address; else none.
  std::vector<std::size_t> unread_at(std::string_view address) const {
    return of_host_.contains(address_part(address)) ? std::vector<std::size_t>() : unread_;
  }

 private:
  void add_listening(const JobView& view, std::size_t rank, const snapshot::ThreadCapture& thread);

  std::vector<std::size_t> unread_;
  std::map<std::string_view, std::set<std::size_t>> of_host_;
  std::map<std::string_view, std::set<std::size_t>> listening_;  // by port
};

Addresses::Addresses(const JobView& view) : unread_(unread_ranks(view)) {
  for (const ProcessCapture& process : view.capture().processes) {
    const std::size_t rank = view.index_of_owner(process);
    if (rank == JobView::kNone) {
      continue;
    }
    for (const snapshot::Connection& connection : process.connections) {
      of_host_[address_part(view.text(connection.local))].insert(rank);
    }
    for (const Transfer& transfer : process.transfers) {
      of_host_[address_part(view.text(transfer.local))].insert(rank);
    }
    for (const snapshot::ThreadCapture& thread : process.threads) {
      add_listening(view, rank, thread);
    }
  }
}

void Addresses::add_listening(const JobView& view,
                              std::size_t rank,
                              const snapshot::ThreadCapture& thread) {
  for (const snapshot::AwaitedFile& file : thread.wait.rare->awaited) {
    if (file.listens()) {
      listening_[port_part(view.text(file.local))].insert(rank);
    }
  }
}

std::size_t Addresses::rank_at(std::string_view address) const {
  const auto there = of_host_.find(address_part(address));
  if (there == of_host_.end()) {
    return JobView::kNone;
  }
  std::set<std::size_t> ranks = there->second;
  if (const auto listening = listening_.find(port_part(address)); listening != listening_.end()) {
    std::erase_if(ranks, [&](std::size_t rank) { return !listening->second.contains(rank); });
  }
  return ranks.size() == 1 ? *ranks.begin() : JobView::kNone;
}

std::size_t rank_at_other_end(const JobView& view,
                              const Addresses& addresses,
                              const ProcessCapture& process,
                              const Transfer& transfer) {
  if (transfer.connecting) {
    return addresses.rank_at(view.text(transfer.peer));
  }
  const ProcessCapture* other = transfer.peer_pid != 0
                                    ? view.process(process.node, transfer.peer_pid)
                                    : view.other_end(transfer.local, transfer.peer);
  return other == nullptr ? JobView::kNone : view.index_of_owner(*other);
}

// Calls take(from, to, transfer, StuckLink::End::by_exclusion of `to`) for what ranks send to each
// other, with this trouble.
template <typename Take>
void each_between_ranks(const JobView& view, TransferTrouble trouble, const Take& take) {
  const auto& processes = view.capture().processes;
  if (std::ranges::all_of(
          processes, [](const ProcessCapture& process) { return process.transfers.empty(); })) {
    return;
  }
  const Addresses addresses(view);
  for (const ProcessCapture& process : processes) {
    for (const Transfer& transfer : process.transfers) {
      if (transfer.trouble != trouble) {
        continue;
      }
      const std::size_t from = view.index_of_owner(process);
      std::size_t to = rank_at_other_end(view, addresses, process, transfer);
      std::size_t excluded = 0;
      if (to == JobView::kNone) {
        const std::vector<std::size_t> unread = addresses.unread_at(view.text(transfer.peer));
        excluded = unread.size();
        to = unread.empty() ? to : unread.front();
      }
      if (from != JobView::kNone && to != JobView::kNone && from != to) {
        take(from, to, transfer, excluded);
      }
    }
  }
}

// Returns the age of the transfer; if unknown, the least time that its tries take: the first waits
// for 200 ms (TCP_RTO_MIN), each further one twice as long.
std::int64_t age_of(const Transfer& transfer) {
  constexpr std::uint32_t kMaxDoublings = 10;  // then each takes two minutes
  const std::int64_t doubled = std::int64_t{1} << std::min(transfer.tries, kMaxDoublings);
  return transfer.age_ms >= 0 ? transfer.age_ms : 200 * (doubled - 1);
}

// Both ends of one connection send in vain. If one end has received more than is acknowledged at
// the other end, the acknowledgements are lost.
LossWay way_of(const Transfer& one, const Transfer& other) {
  if (one.acknowledged < 0 || one.received < 0 || other.acknowledged < 0 || other.received < 0) {
    return LossWay::kUnknown;
  }
  // At the end that has connected, the handshake counts as a byte that was acknowledged, so that a
  // single byte is missed there.
  const bool other_got = other.received > one.acknowledged;
  const bool one_got = one.received > other.acknowledged;
  return other_got ? LossWay::kUnknown : one_got ? LossWay::kOneWay : LossWay::kBoth;
}

// What one end of a connection sends in vain.
struct Sent {
  std::size_t rank = 0;
  std::string_view local;
  std::string_view peer;
  const Transfer* transfer = nullptr;
  std::size_t excluded = 0;  // StuckLink::End::by_exclusion of the other end
};

StuckLink link_of(const JobView& view, const std::vector<Sent>& sent, const Pair& ranks) {
  StuckLink link;
  const Sent& oldest = *std::ranges::max_element(
      sent, [](const Sent& a, const Sent& b) { return age_of(*a.transfer) < age_of(*b.transfer); });
  const std::size_t other = ranks.first + ranks.second - oldest.rank;
  link.ends = {{{oldest.rank, 0, printable(oldest.local, 60), {}, oldest.transfer},
                {other, oldest.excluded, printable(oldest.peer, 60), {}, nullptr}}};
  link.age_ms = age_of(*oldest.transfer);
  std::set<std::pair<std::string_view, std::string_view>> connections;
  for (const Sent& one : sent) {
    connections.insert(std::minmax(one.local, one.peer));
    if (one.local == oldest.peer && one.peer == oldest.local) {
      link.ends[1].transfer = one.transfer;
    }
  }
  link.connections = connections.size();
  auto& [first, second] = link.ends;
  if (second.transfer != nullptr) {
    link.way = way_of(*first.transfer, *second.transfer);
    if (link.way == LossWay::kUnknown &&
        way_of(*second.transfer, *first.transfer) == LossWay::kOneWay) {
      std::swap(first, second);
      link.way = LossWay::kOneWay;
    }
  }
  for (StuckLink::End& end : link.ends) {
    end.device = end.transfer == nullptr ? "" : printable(view.text(end.transfer->device), 40);
  }
  return link;
}

std::string end_name(const JobView& view, const StuckLink::End& end) {
  const RankView& rank = view.rank(end.rank);
  if (end.by_exclusion > 1) {
    return fmt::format("one of {} ranks", end.by_exclusion);
  }
  return JobView::short_name(rank);
}

std::string join_ends(const StuckLink& link, const std::string& one, const std::string& other) {
  return fmt::format("{} {} {}", one, link.way == LossWay::kOneWay ? "->" : "-", other);
}

}  // namespace

std::vector<StuckLink> find_stuck_links(const JobView& view) {
  std::map<Pair, std::vector<Sent>> by_ranks;
  each_between_ranks(
      view, TransferTrouble::kUnanswered,
      [&](std::size_t from, std::size_t to, const Transfer& transfer, std::size_t excluded) {
        by_ranks[std::minmax(from, to)].push_back(
            {from, view.text(transfer.local), view.text(transfer.peer), &transfer, excluded});
      });
  std::vector<StuckLink> links;
  links.reserve(by_ranks.size());
  for (const auto& [ranks, sent] : by_ranks) {
    links.push_back(link_of(view, sent, ranks));
  }
  return links;
}

StuckLink stuck_link_of(const JobView& view, const ProxyStall& stall) {
  StuckLink link;
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    link.ends.at(end).rank = stall.ranks.at(end);
    link.ends.at(end).device = stall.devices.at(end);
  }
  link.way = LossWay::kOneWay;
  link.connections = stall.channels;
  link.age_ms = age_of_stall_ms(view, stall);
  link.steps = stall.steps;
  link.adapters = !stall.sockets;
  link.waiters = stall.waiters;
  return link;
}

std::vector<UnreadData> find_unread_data(const JobView& view) {
  std::vector<UnreadData> unread;
  each_between_ranks(view, TransferTrouble::kNotTaken,
                     [&](std::size_t from, std::size_t to, const Transfer& transfer, std::size_t) {
                       unread.push_back({from, to, &transfer});
                     });
  return unread;
}

bool is_between_members(const Slot& slot, const StuckLink& link) {
  const auto has = [&link](const std::vector<std::size_t>& ranks, std::size_t end) {
    return std::ranges::find(ranks, link.ends.at(end).rank) != ranks.end();
  };
  const auto is_member = [&](std::size_t end) {
    return has(slot.inside, end) || has(slot.absent, end) || has(slot.beside, end) ||
           has(slot.unclear, end);
  };
  return is_member(0) && is_member(1) && (has(slot.inside, 0) || has(slot.inside, 1));
}

bool loses_small(const StuckLink& link) {
  constexpr std::uint64_t kMaxSmall = 500;  // without headers
  const Transfer* sent = link.ends[0].transfer;
  return sent != nullptr && (sent->connecting || sent->unsent <= kMaxSmall);
}

std::string link_names(const JobView& view, const StuckLink& link) {
  return join_ends(link, end_name(view, link.ends[0]), end_name(view, link.ends[1]));
}

std::string link_words(const JobView& view, const StuckLink& link) {
  const auto words = [&view](const StuckLink::End& end) {
    std::string place = printable(view.rank(end.rank).host, 60);
    for (const std::string_view part : {std::string_view(end.device), address_part(end.address)}) {
      place += part.empty() ? "" : fmt::format(" {}", part);
    }
    return fmt::format("{} ({}{})", end_name(view, end), place,
                       end.by_exclusion > 0 ? ", by exclusion" : "");
  };
  return join_ends(link, words(link.ends[0]), words(link.ends[1]));
}

std::string stall_place(const JobView& view, const ProxyStall& stall) {
  switch (stall.kind) {
    case ProxyStall::Kind::kLink:
      return "on the link " + link_words(view, stuck_link_of(view, stall));
    case ProxyStall::Kind::kNetwork:
      return network_words(view, stall);
    default:
      return "before " + device_words(view, stall);
  }
}

std::string tries_words(const StuckLink& link) {
  if (link.steps > 0) {
    const std::string age =
        link.age_ms < 0 ? "" : " for " + span_words(std::chrono::milliseconds(link.age_ms));
    return fmt::format("{} given to the network on {} not arrived{}",
                       count_of(static_cast<std::size_t>(link.steps), "step"),
                       count_of(link.connections, "channel") + (link.steps == 1 ? " has" : " have"),
                       age);
  }
  const Transfer& transfer = *link.ends[0].transfer;
  return fmt::format(
      "{} sent {} times in vain for {}{}",
      transfer.connecting ? std::string("a request to connect") : count_of(transfer.unsent, "byte"),
      transfer.tries, span_words(std::chrono::milliseconds(link.age_ms)),
      link.ends[1].transfer == nullptr ? "" : ", by both ends");
}

std::string link_evidence(const StuckLink& link) {
  if (link.steps > 0) {
    return "NCCL: " + tries_words(link);
  }
  return fmt::format("TCP {} - {}: {}", link.ends[0].address, link.ends[1].address,
                     tries_words(link));
}

}  // namespace oddrank::aggregate
