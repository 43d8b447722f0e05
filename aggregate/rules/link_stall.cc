// Ranks wait for data on a link that does not carry it: the kernel of one end sends again and
// again, and nothing is acknowledged. A link has two ends and no guilty rank, so no rank is named.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {
namespace {

// A path that loses much, but not all, may lose some in a row for once: in 5 s four tries are lost,
// each after twice the time; in 10 s five.
constexpr std::int64_t kLikelyMs = 5000;
constexpr std::int64_t kCertainMs = 10000;
constexpr std::size_t kMaxLinksInWords = 3;
constexpr std::size_t kMaxAdvised = 2;
constexpr std::size_t kMaxHops = 4;

// A link, and the cause that it is in the graph's solution.
struct Needed {
  const StuckLink* link = nullptr;
  CauseId cause = 0;
};

// Returns the links that ranks need to go on, the one that most need first.
std::vector<Needed> needed_links(const RuleInput& input) {
  const WaitGraph& graph = input.graph;
  std::vector<Needed> needed;
  const auto& causes = input.blame.solution.causes;
  for (CauseId id = 0; id < causes.size(); ++id) {
    const std::uint32_t node = graph.of_net[causes[id].nodes.front()];
    if (!causes[id].circle && node != WaitGraph::kNotInNet && input.blame.needed[id] > 0 &&
        graph.nodes[node].kind == NodeKind::kLink) {
      needed.push_back({&graph.links[graph.nodes[node].index], id});
    }
  }
  std::stable_sort(needed.begin(), needed.end(), [&input](const Needed& a, const Needed& b) {
    return input.blame.needed[a.cause] > input.blame.needed[b.cause];
  });
  return needed;
}

LinkEnd end_of(const JobView& view, const StuckLink::End& end) {
  const RankView& rank = view.ranks()[end.rank];
  LinkEnd row{rank.rank, rank.host, rank.pid(), {}, end.address};
  if (end.transfer != nullptr) {
    row.device = printable(view.text(end.transfer->device), 40);
  }
  return row;
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
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const SuspectHost& a, const SuspectHost& b) { return a.links > b.links; });
  return suspects;
}

// Returns the rank at which all of several links end; kNone if there is no such rank.
std::size_t common_end(const std::vector<Needed>& links) {
  for (const StuckLink::End& end : links.front().link->ends) {
    const bool common = std::all_of(links.begin(), links.end(), [&end](const Needed& one) {
      return one.link->ends[0].rank == end.rank || one.link->ends[1].rank == end.rank;
    });
    if (common && links.size() > 1) {
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
  return fmt::format(
      "nothing gets through on {}: {} ({}){}",
      links.size() == 1 ? "a link" : fmt::format("{} links", links.size()), words,
      tries_words(*links.front().link),
      common == JobView::kNone
          ? ""
          : fmt::format("; all of them end at {}", JobView::name(input.view.ranks()[common])));
}

// Returns the ranks that need the link, by their calls.
std::vector<ChainLink> chain_of(const RuleInput& input, const Needed& needed) {
  std::map<std::string, std::vector<std::int32_t>> waiters;
  for (std::size_t at = 0; at < input.view.ranks().size(); ++at) {
    const RankView& rank = input.view.ranks()[at];
    if (rank.rank >= 0 && input.blame.solution.is_sure(at, needed.cause)) {
      waiters[rank.decider->call ? call_at_words(input, rank) : "wait"].push_back(rank.rank);
    }
  }
  std::vector<ChainLink> chain;
  for (auto& [call, ranks] : waiters) {
    if (chain.size() < kMaxHops) {
      chain.push_back({format_ranks(std::move(ranks)), link_words(input.view, *needed.link), call,
                       link_evidence(*needed.link)});
    }
  }
  return chain;
}

// Returns "; n3 gave no answer either" for a host known by exclusion.
std::string silent_words(const JobView& view, const std::vector<Needed>& links) {
  for (const Needed& one : links) {
    for (const StuckLink::End& end : one.link->ends) {
      if (end.by_exclusion) {
        return fmt::format("; {} gave no answer either: the host is down, or its network",
                           printable(view.ranks()[end.rank].host, 60));
      }
    }
  }
  return {};
}

Confidence sureness(const RuleInput& input, const std::vector<Needed>& links) {
  std::int64_t age_ms = links.front().link->age_ms;
  bool all_read = true;
  // One connection to an address that nobody is known to have may lead elsewhere.
  const bool alone = links.size() == 1 && (links.front().link->ends[0].by_exclusion ||
                                           links.front().link->ends[1].by_exclusion);
  for (const Needed& one : links) {
    age_ms = std::min(age_ms, one.link->age_ms);
    for (const StuckLink::End& end : one.link->ends) {
      all_read = all_read && input.view.ranks()[end.rank].presence == Presence::kRead;
    }
  }
  return age_ms < kLikelyMs || alone        ? Confidence::kPossible
         : age_ms < kCertainMs || !all_read ? Confidence::kLikely
                                            : Confidence::kCertain;
}

void advise(const RankView& rank, const BrokenLink& link, Finding& finding) {
  const std::string to = shell_quoted(snapshot::address_part(link.to.address));
  finding.advice.push_back(on(rank, fmt::format("ping -c 3 {}; ip neigh show {}", to, to)));
  if (!link.from.device.empty()) {
    const std::string device = shell_quoted(link.from.device);
    finding.advice.push_back(
        on(rank, fmt::format("ip -s link show {}; ethtool -S {}", device, device)));
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
  finding.summary = summary_of(input, links) + silent_words(input.view, links);
  finding.explains = input.blame.needed[links.front().cause];
  finding.chain = chain_of(input, links.front());
  for (const Needed& one : links) {
    const StuckLink& link = *one.link;
    finding.links.push_back({end_of(input.view, link.ends[0]), end_of(input.view, link.ends[1]),
                             link.way == LossWay::kOneWay, link.connections, link.age_ms,
                             link_evidence(link)});
  }
  finding.suspect_hosts = suspects_of(finding.links);
  for (std::size_t i = 0; i < std::min(links.size(), kMaxAdvised); ++i) {
    advise(input.view.ranks()[links[i].link->ends[0].rank], finding.links[i], finding);
  }
  finding.advice.emplace_back(
      "a link has two ends: check cable, switch, firewall and MTU between them before a host is "
      "drained");
  finding.disproves = {
      "data that arrives on the connection after all: then the link is slow, not broken"};
  finding.weakness = "the link may have failed after the job had stopped for another reason";
  return {finding};
}

}  // namespace oddrank::aggregate
