#include "aggregate/view/missing_ranks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "snapshot/connection.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {

using snapshot::address_part;
using snapshot::Capture;
using snapshot::JobSource;
using snapshot::NodeCapture;
using snapshot::port_part;
using snapshot::ProcessCapture;

namespace {

// A larger world size is a damaged number, not a job.
constexpr std::int32_t kMaxWorld = 1 << 17;

// Returns whether an address without its port, or a name, is of the loopback network.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host.substr(0, 4) == "127." || host == "::1";
}

// A connection to an own address has this address at both ends, or two of the loopback network.
bool is_within_machine(std::string_view local, std::string_view peer) {
  const std::string_view from = address_part(local);
  const std::string_view to = address_part(peer);
  return !from.empty() && (from == to || (is_loopback(from) && is_loopback(to)));
}

// Returns whether an unseen process of the same machine has the store at which the job's ranks
// meet, or is connected with it. Ranks that have ended do not count: the kernel has closed their
// connections.
bool meets_unseen(const JobView& view, const ProcessCapture& process) {
  const auto variable = snapshot::variable_of(view.capture().tables, process, "MASTER_PORT");
  const std::string_view port = variable.value_or(port_part(view.text(process.job_key)));
  return !port.empty() &&
         std::ranges::any_of(process.connections, [&](const snapshot::Connection& each) {
           const std::string_view local = view.text(each.local);
           const std::string_view peer = view.text(each.peer);
           return (port_part(local) == port || port_part(peer) == port) &&
                  is_within_machine(local, peer) && !view.has_other_end(each);
         });
}

bool waits_for_unseen(const JobView& view, const ProcessCapture& process) {
  // The capture keeps connections whose other end is in no process of their node; it may be in
  // another container that was read.
  const auto is_kept = [&process](const snapshot::Wait& wait) {
    return std::ranges::any_of(process.connections, [&wait](const snapshot::Connection& each) {
      return each.local == wait.rare->local && each.peer == wait.rare->peer;
    });
  };
  return std::ranges::any_of(process.threads, [&](const auto& thread) {
    const snapshot::Wait& wait = thread.wait;
    return wait.holder_pid == 0 &&
           is_within_machine(view.text(wait.rare->local), view.text(wait.rare->peer)) &&
           is_kept(wait) && !view.has_other_end(wait);
  });
}

// Returns whether an agent may have seen only a part of its machine, where a rank without a process
// may still exist: a rank is the first process of its agent's pid namespace (a container of one
// rank), or has a connection within the machine whose other end no process has: one that it waits
// for, or one with the store at which the ranks meet.
bool is_partly_seen(const JobView& view) {
  const auto& processes = view.capture().processes;
  return std::ranges::any_of(processes, [&view](const ProcessCapture& process) {
    return process.is_rank &&
           (process.pid == 1 || meets_unseen(view, process) || waits_for_unseen(view, process));
  });
}

// Returns whether the node was read completely: then a rank that was not found there does not
// exist.
bool was_looked_at(const NodeCapture& node) {
  return node.answered && node.why.empty();
}

std::int32_t number_variable(const Capture& capture,
                             const ProcessCapture& process,
                             std::string_view name) {
  const auto text = snapshot::variable_of(capture.tables, process, name);
  return text ? parse_number<std::int32_t>(*text).value_or(-1) : -1;
}

std::int32_t world_size(const Capture& capture) {
  std::int32_t size = capture.job.world_size;
  for (const ProcessCapture& process : capture.processes) {
    if (process.is_rank && capture.job.world_size <= 0) {
      size = std::max(size, process.world_size);
    }
  }
  return size > 0 && size <= kMaxWorld ? size : -1;
}

// Returns the ranks that must be on the node of `process`, according to its launcher; empty if
// unknown.
std::pair<std::int32_t, std::int32_t> local_range(const Capture& capture,
                                                  const ProcessCapture& process,
                                                  bool partly_seen,
                                                  std::int32_t world) {
  // A job without variables is named after the address at which its ranks meet.
  const std::string_view job = capture.tables.text(process.job_key);
  const auto address = snapshot::variable_of(capture.tables, process, "MASTER_ADDR");
  if (is_loopback(address.value_or(address_part(job)))) {
    // All ranks are on this machine.
    return partly_seen ? std::pair(0, 0) : std::pair(0, world);
  }
  const std::int32_t local_world = number_variable(capture, process, "LOCAL_WORLD_SIZE");
  if (local_world <= 0 || local_world > world || process.rank < 0 || process.local_rank < 0 ||
      process.local_rank > process.rank || process.pid == 1) {
    return {0, 0};  // also if it is alone in its container: there are no others beside it
  }
  // Launchers number ranks node by node; if LOCAL_WORLD_SIZE == world, these are all of them.
  const std::int32_t base = process.rank - process.local_rank;
  return {base, std::min(world, base + local_world)};
}

// Returns how many nodes the job has, by the launchers' variables; 0 if unknown.
std::size_t nodes_named(const Capture& capture, std::int32_t world) {
  std::int32_t nodes = 0;
  for (const ProcessCapture& process : capture.processes) {
    if (!process.is_rank) {
      continue;
    }
    for (const std::string_view name : {"GROUP_WORLD_SIZE", "SLURM_NNODES"}) {
      nodes = std::max(nodes, number_variable(capture, process, name));
    }
    const std::int32_t local_world = number_variable(capture, process, "LOCAL_WORLD_SIZE");
    if (local_world > 0 && local_world <= world) {
      nodes = std::max(nodes, (world + local_world - 1) / local_world);
    }
  }
  return static_cast<std::size_t>(nodes);
}

// What is known about ranks without a process.
struct Absence {
  JobSource source = JobSource::kNode;
  std::map<std::int32_t, const NodeCapture*> home;  // the node that the launcher put each rank on
  const NodeCapture* silent = nullptr;              // a node that did not answer, or only in part
  std::size_t silent_nodes = 0;
  std::vector<std::tuple<std::int32_t, std::int32_t, std::string>> local_ranges;
  bool whole_job = false;    // every node of the job was read
  bool partly_seen = false;  // a node may have containers that were not read
  // Processes that were read without a rank: each may be any missing one.
  std::size_t nameless = 0;
  std::map<std::string, const RankView*> alive;  // by host: one of them that has not ended
};

void look_at_nodes(const Capture& capture, Absence& absence) {
  for (const NodeCapture& node : capture.nodes) {
    for (const std::int32_t rank : node.expected_ranks) {
      if (rank >= 0 && rank < kMaxWorld) {
        absence.home.emplace(rank, &node);
      }
    }
    if (!was_looked_at(node)) {
      absence.silent = &node;
      ++absence.silent_nodes;
    }
  }
}

void look_at_found(const Capture& capture,
                   const std::vector<RankView>& found,
                   std::int32_t world,
                   Absence& absence) {
  for (const RankView& each : found) {
    const std::uint32_t node = each.process->node;
    const auto [first, end] = local_range(capture, *each.process, absence.partly_seen, world);
    const bool whole = node >= capture.nodes.size() || was_looked_at(capture.nodes[node]);
    // A rank without a core may still exist.
    if (first < end && whole && absence.source != JobSource::kCore) {
      absence.local_ranges.emplace_back(first, end, each.host);
    }
    // A process without a rank (a core file without an environment) may be any of them.
    if (each.may_be_rank()) {
      ++absence.nameless;
      if (each.presence != Presence::kDead) {
        absence.alive.emplace(each.host, &each);
      }
    }
  }
  auto& ranges = absence.local_ranges;
  std::ranges::sort(ranges);
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
}

// Returns whether `answered` nodes are all nodes of the job, not only the requested ones.
bool is_whole_job(const Capture& capture, std::int32_t world, std::size_t answered) {
  switch (capture.job.source) {
    case JobSource::kSlurm:
      return true;
    case JobSource::kReport:
      return !capture.job.id.empty();
    case JobSource::kHosts: {
      // Hosts are given by hand: only the launcher can say whether they are all of the job's.
      const std::size_t named = nodes_named(capture, world);
      return named > 0 && answered >= named;
    }
    default:
      return false;
  }
}

void say_silent(const NodeCapture& node, RankView& rank) {
  rank.host = printable(node.host);
  rank.why = node.why.empty() ? "node did not answer" : printable(node.why);
}

void say_gone(const std::string& host, const char* why, RankView& rank) {
  rank.presence = Presence::kAbsent;
  rank.host = host;
  rank.why = why;
}

// Explains a rank whose node is not known.
void explain_homeless(const Absence& absence, RankView& rank) {
  if (absence.silent_nodes == 1) {
    say_silent(*absence.silent, rank);
  } else if (absence.silent_nodes > 1) {
    rank.why = fmt::format("on one of {} nodes that did not answer", absence.silent_nodes);
  } else if (absence.whole_job) {
    say_gone("", "no process of this rank on any node of the job", rank);
  } else if (absence.source == JobSource::kCore) {
    rank.why = absence.nameless == 0 ? "no core file of it was given"
                                     : "none of the core files that tell their rank is of it";
  } else if (absence.partly_seen) {
    rank.why = "not in the containers that were looked at";
  } else {
    rank.why = "not on the nodes that were looked at";
  }
}

// Decides whether a rank without a process is shown to be gone, or was just not seen.
void explain_absence(const Absence& absence, RankView& rank) {
  constexpr const char* kNotOnNode = "no process of this rank on its node";
  if (const auto home = absence.home.find(rank.rank); home != absence.home.end()) {
    const NodeCapture& node = *home->second;
    if (!was_looked_at(node)) {
      say_silent(node, rank);
      return;
    }
    say_gone(printable(node.host), kNotOnNode, rank);
    rank.launched = true;
    return;
  }
  for (const auto& [first, end, host] : absence.local_ranges) {
    if (rank.rank >= first && rank.rank < end) {
      say_gone(host, kNotOnNode, rank);
      return;
    }
  }
  explain_homeless(absence, rank);
}

// A rank may not be gone if a process of the job without a rank lives on its node.
void doubt_absence(const Absence& absence, RankView& rank) {
  if (rank.presence != Presence::kAbsent || absence.alive.empty()) {
    return;
  }
  const auto there = rank.host.empty() ? absence.alive.begin() : absence.alive.find(rank.host);
  if (there != absence.alive.end()) {
    rank.presence = Presence::kUnread;
    rank.launched = false;
    rank.why = fmt::format("it may be pid {}, which does not tell its rank", there->second->pid());
  }
}

// Returns the ranks that are expected and have no process, in order.
std::vector<std::int32_t> ranks_not_found(const JobView& view,
                                          std::int32_t world,
                                          const Absence& absence) {
  const std::int32_t known = absence.home.empty() ? 0 : absence.home.rbegin()->first + 1;
  std::vector<bool> is_missing(static_cast<std::size_t>(std::max({world, known, 0})));
  std::fill_n(is_missing.begin(), std::max(world, 0), true);
  for (const auto& entry : absence.home) {
    is_missing[static_cast<std::size_t>(entry.first)] = true;
  }
  for (const RankView& each : view.ranks()) {
    if (each.rank >= 0 && static_cast<std::size_t>(each.rank) < is_missing.size()) {
      is_missing[static_cast<std::size_t>(each.rank)] = false;
    }
  }
  std::vector<std::int32_t> missing;
  for (std::size_t rank = 0; rank < is_missing.size(); ++rank) {
    if (is_missing[rank]) {
      missing.push_back(static_cast<std::int32_t>(rank));
    }
  }
  return missing;
}

}  // namespace

MissingRanks find_missing_ranks(const JobView& view) {
  const Capture& capture = view.capture();
  const std::int32_t world = world_size(capture);
  Absence absence;
  absence.source = capture.job.source;
  look_at_nodes(capture, absence);

  const std::vector<std::int32_t> missing = ranks_not_found(view, world, absence);
  MissingRanks result;
  if (missing.empty()) {
    return result;
  }
  absence.partly_seen = is_partly_seen(view);
  look_at_found(capture, view.ranks(), world, absence);
  absence.whole_job = is_whole_job(capture, world, view.nodes_answered()) &&
                      view.nodes_answered() > 0 && view.nodes_answered() >= view.nodes_expected();
  for (const std::int32_t rank : missing) {
    RankView absent;
    absent.rank = rank;
    explain_absence(absence, absent);
    doubt_absence(absence, absent);
    result.ranks.push_back(std::move(absent));
  }
  result.may_be_found = std::min(absence.nameless, result.ranks.size());
  return result;
}

}  // namespace oddrank::aggregate
