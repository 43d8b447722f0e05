// Ranks wait for data on a link that does not carry it: the kernel of one end sends again and
// again, and nothing is acknowledged; or NCCL's data does not arrive. A link has two ends and no
// guilty rank, so no rank is named.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "aggregate/evidence/odd_devices.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/needed_nodes.h"
#include "base/printable.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxLinksInWords = 3;
constexpr std::size_t kMaxAdvised = 2;

// A link, and its cause in the graph's solution.
struct Needed {
  const StuckLink* link = nullptr;
  CauseId cause = 0;
};

std::vector<Needed> needed_links(const RuleInput& input) {
  std::vector<Needed> links;
  for (const NeededNode& node : needed_nodes(input, NodeKind::kLink)) {
    links.push_back({&input.graph.links[node.index], node.cause});
  }
  return links;
}

LinkEnd end_of(const JobView& view, const StuckLink::End& end) {
  const RankView& rank = view.rank(end.rank);
  return {end.by_exclusion > 1 ? -1 : rank.rank, rank.host, rank.pid(), end.device, end.address};
}

// Returns the hosts at which the links end, the one with the most connections first.
std::vector<SuspectHost> suspects_of(const std::vector<BrokenLink>& links) {
  std::map<std::string, std::size_t> counts;
  for (const BrokenLink& link : links) {
    const std::set<std::string> hosts = {link.from.host, link.to.host};
    for (const std::string& host : hosts) {
      counts[host] += link.connections;
    }
  }
  std::vector<SuspectHost> suspects;
  if (counts.size() < 2) {
    return {};  // all are on one host, between containers
  }
  suspects.reserve(counts.size());
  for (const auto& [host, count] : counts) {
    suspects.push_back({host, count});
  }
  std::ranges::stable_sort(
      suspects, [](const SuspectHost& a, const SuspectHost& b) { return a.links > b.links; });
  return suspects;
}

// Returns the rank at which all of several links end; kNone if there is no such rank.
std::size_t common_end(const std::vector<Needed>& links) {
  for (const StuckLink::End& end : links.front().link->ends) {
    const bool common = std::ranges::all_of(links, [&end](const Needed& one) {
      return one.link->ends[0].rank == end.rank || one.link->ends[1].rank == end.rank;
    });
    if (common && links.size() > 1 && end.by_exclusion <= 1) {
      return end.rank;
    }
  }
  return JobView::kNone;
}

std::string summary_of(const RuleInput& input, const std::vector<Needed>& links) {
  std::string words;
  for (std::size_t i = 0; i < std::min(links.size(), kMaxLinksInWords); ++i) {
    words += (i == 0 ? "" : "; ") + link_words(input.view, *links[i].link);
  }
  if (links.size() > kMaxLinksInWords) {
    words += fmt::format("; and {} more", links.size() - kMaxLinksInWords);
  }
  const std::size_t common = common_end(links);
  return fmt::format("nothing gets through on {}: {} ({}){}",
                     links.size() == 1 ? "a link" : fmt::format("{} links", links.size()), words,
                     tries_words(*links.front().link),
                     common == JobView::kNone ? ""
                                              : fmt::format("; all of them end at {}",
                                                            JobView::name(input.rank(common))));
}

// Returns "; n3 gave no answer either" for a host known by exclusion.
std::string silent_words(const JobView& view, const std::vector<Needed>& links) {
  for (const Needed& one : links) {
    for (const StuckLink::End& end : one.link->ends) {
      if (end.by_exclusion > 0) {
        return fmt::format("; {} gave no answer either: the host is down, or its network",
                           printable(view.rank(end.rank).host, 60));
      }
    }
  }
  return {};
}

// Returns what is odd about the ports at which the links end, with "; " before each.
std::string port_words(const JobView& view, const std::vector<Needed>& links) {
  std::set<std::string> all;
  for (const Needed& one : links) {
    for (const StuckLink::End& end : one.link->ends) {
      const auto* process = view.rank(end.rank).process;
      const std::string odd =
          process == nullptr ? std::string() : odd_port(view, process->node, end.device);
      if (!odd.empty()) {
        all.insert(fmt::format("; on {} {}", printable(view.rank(end.rank).host, 60), odd));
      }
    }
  }
  return std::accumulate(all.begin(), all.end(), std::string());
}

Confidence sureness(const RuleInput& input, const std::vector<Needed>& links) {
  std::int64_t age_ms = links.front().link->age_ms;
  bool all_read = true;
  // One connection to an address that no known rank has may lead elsewhere.
  const bool alone = links.size() == 1 && (links.front().link->ends[0].by_exclusion > 0 ||
                                           links.front().link->ends[1].by_exclusion > 0);
  for (const Needed& one : links) {
    age_ms = std::min(age_ms, one.link->age_ms);
    for (const StuckLink::End& end : one.link->ends) {
      all_read = all_read && input.rank(end.rank).presence == Presence::kRead;
    }
  }
  const Confidence most = alone      ? Confidence::kPossible
                          : all_read ? Confidence::kCertain
                                     : Confidence::kLikely;
  const StuckLink& first = *links.front().link;
  return std::min(most, first.steps > 0 ? sureness_of_stall(input, age_ms, first.waiters)
                                        : sureness_by_age(age_ms));
}

void advise(const RankView& rank, const StuckLink& link, Finding& finding) {
  const StuckLink::End& from = link.ends[0];
  if (!link.ends[1].address.empty()) {
    const std::string to = shell_quoted(snapshot::address_part(link.ends[1].address));
    finding.advice.push_back(on(rank, fmt::format("ping -c 3 {}; ip neigh show {}", to, to)));
  }
  if (!from.device.empty()) {
    const std::string device = shell_quoted(from.device);
    finding.advice.push_back(
        on(rank, link.adapters
                     ? fmt::format("ibstat {}; rdma statistic show link {}/1", device, device)
                     : fmt::format("ip -s link show {}; ethtool -S {}", device, device)));
  }
}

}  // namespace

std::vector<Finding> link_stall(const RuleInput& input) {
  const std::vector<Needed> links = needed_links(input);
  if (links.empty()) {
    return {};
  }
  Finding finding;
  finding.kind = Kind::kLinkStall;
  finding.confidence = sureness(input, links);
  finding.summary =
      summary_of(input, links) + silent_words(input.view, links) + port_words(input.view, links);
  finding.explains = input.blame.needed[links.front().cause];
  finding.chain = chain_to(input, links.front().cause, link_words(input.view, *links.front().link),
                           link_evidence(*links.front().link));
  for (const Needed& one : links) {
    const StuckLink& link = *one.link;
    finding.links.push_back({end_of(input.view, link.ends[0]), end_of(input.view, link.ends[1]),
                             link.way == LossWay::kOneWay, link.connections, link.age_ms,
                             link_evidence(link)});
  }
  finding.suspect_hosts = suspects_of(finding.links);
  for (std::size_t i = 0; i < std::min(links.size(), kMaxAdvised); ++i) {
    advise(input.view.ranks()[links[i].link->ends[0].rank], *links[i].link, finding);
  }
  finding.advice.emplace_back(fmt::format(
      "a link has two ends: check cable, switch{} between them before a host is drained",
      std::ranges::any_of(links, [](const Needed& one) { return loses_small(*one.link); })
          ? " and firewall (not the MTU: what is lost is small)"
          : ", firewall and MTU"));
  finding.disproves = {
      "data that arrives on the connection after all: then the link is slow, not broken"};
  finding.weakness = "the link may have failed after the job had stopped for another reason";
  return {finding};
}

}  // namespace oddrank::aggregate
