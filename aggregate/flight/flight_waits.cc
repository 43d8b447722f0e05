#include "aggregate/flight/flight_waits.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/flight/flight_mismatch.h"
#include "aggregate/solver/solve.h"
#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Transfers in one direction between two ranks of a group.
struct Transfers {
  std::vector<const FlightEntry*> sends;
  std::vector<const FlightEntry*> receives;
};

class Finder {
 public:
  explicit Finder(const FlightJob& job) : job_(job) {}

  FlightWaits run();

 private:
  void add_collectives(std::size_t index);

  // Matches the n-th send with the n-th receive between two ranks, counted from the beginning. Only
  // whole rings have the beginning.
  void add_transfers();

  void add_one_side(std::size_t index,
                    std::int32_t rank,
                    std::int32_t peer,
                    const std::vector<const FlightEntry*>& mine,
                    std::size_t theirs);

  std::uint32_t node(std::int32_t rank);

  // Solves the net. A call is one node between the ranks that wait in it and the ranks that are
  // absent, so that thousands of ranks do not make millions of edges; a rank inside of a call that
  // does not end is no root, also if all members have come.
  void follow();

  const FlightJob& job_;
  FlightWaits result_;
  WaitNet net_;
  std::map<std::int32_t, std::uint32_t> nodes_;  // by rank
};

FlightWaits Finder::run() {
  for (std::size_t index = 0; index < job_.groups.size(); ++index) {
    add_collectives(index);
  }
  add_transfers();
  std::ranges::stable_sort(result_.waits, [](const FlightWait& a, const FlightWait& b) {
    return a.waiters.size() > b.waiters.size();
  });
  follow();
  return std::move(result_);
}

void Finder::add_collectives(std::size_t index) {
  const FlightMembers& group = job_.groups[index];
  std::map<std::int64_t, FlightWait> by_sequence;
  for (const FlightTrack& track : group.tracks) {
    if (track.pending >= 0) {
      by_sequence[track.pending].waiters.push_back(track.rank);
    }
  }
  for (auto& [sequence, wait] : by_sequence) {
    wait.group = index;
    wait.sequence = sequence;
    wait.unknown = group.no_dump;
    const FlightEntry* call = group.track(wait.waiters.front())->at(sequence);
    wait.on = fmt::format("{} #{} in {}", printable(job_.texts->text(call->op), 60), sequence,
                          group.words());
    std::int64_t last = -1;
    for (const FlightTrack& track : group.tracks) {
      if (track.is_before(sequence)) {
        wait.absent.push_back(track.rank);
        last = std::max(last, track.enqueued);
      } else if (track.enqueued < sequence) {
        wait.unknown.push_back(track.rank);
      }
    }
    if (!wait.absent.empty()) {
      wait.evidence = last < group.first
                          ? "they have called nothing in this group"
                          : fmt::format("the last that they called in this group is #{}", last);
    } else if (wait.unknown.empty()) {
      wait.evidence = group.ranks_told ? "every member has called it"
                                       : "every rank that is known to be in it has called it";
    }
    result_.waits.push_back(std::move(wait));
  }
}

void Finder::add_transfers() {
  std::map<std::tuple<std::size_t, std::int32_t, std::int32_t>, Transfers> all;
  for (std::size_t at = 0; at < job_.records.size(); ++at) {
    const FlightRecord& record = *job_.records[at];
    for (const FlightEntry& entry : record.entries) {
      const std::size_t index = job_.group_at(at, entry);
      const std::int32_t peer = job_.peer_in(index, entry);
      if (peer == FlightJob::kNoPeer) {
        continue;
      }
      if (job_.texts->text(entry.op) == "send") {
        all[{index, record.rank, peer}].sends.push_back(&entry);
      } else {
        all[{index, peer, record.rank}].receives.push_back(&entry);
      }
    }
  }
  for (const auto& [key, transfers] : all) {
    const auto& [index, from, to] = key;
    add_one_side(index, from, to, transfers.sends, transfers.receives.size());
    add_one_side(index, to, from, transfers.receives, transfers.sends.size());
  }
}

void Finder::add_one_side(std::size_t index,
                          std::int32_t rank,
                          std::int32_t peer,
                          const std::vector<const FlightEntry*>& mine,
                          std::size_t theirs) {
  const auto open = std::ranges::find_if(
      mine, [this](const FlightEntry* entry) { return !has_ended(*entry, *job_.texts); });
  if (open == mine.end()) {
    return;
  }
  FlightWait wait;
  wait.group = index;
  wait.waiters = {rank};
  const bool sends = job_.texts->text((*open)->op) == "send";
  wait.on = fmt::format("{} rank {} in {}", sends ? "send to" : "recv from", peer,
                        job_.groups[index].words());
  const auto number = static_cast<std::size_t>(open - mine.begin());
  const FlightRecord* record = job_.record(rank);
  const FlightRecord* other = job_.record(peer);
  if (other == nullptr || !is_whole(*other) || !is_whole(*record)) {
    wait.unknown = {peer};
  } else if (theirs <= number) {
    wait.absent = {peer};
    wait.evidence = fmt::format("it is number {} between the two, rank {} has called {}",
                                number + 1, peer, theirs);
  } else {
    wait.evidence = "both sides have called it";
  }
  result_.waits.push_back(std::move(wait));
}

std::uint32_t Finder::node(std::int32_t rank) {
  const auto [at, is_new] = nodes_.try_emplace(rank, 0);
  if (is_new) {
    at->second = static_cast<std::uint32_t>(net_.add(Join::kAll));
  }
  return at->second;
}

void Finder::follow() {
  std::set<std::int32_t> unseen;
  for (const FlightWait& wait : result_.waits) {
    unseen.insert(wait.unknown.begin(), wait.unknown.end());
    const std::size_t call = net_.add(Join::kAll);
    for (const std::int32_t rank : wait.waiters) {
      net_.wait(node(rank), call);
    }
    for (const std::int32_t rank : wait.absent) {
      net_.wait(call, node(rank));
    }
  }
  for (const std::int32_t rank : unseen) {
    if (job_.record(rank) == nullptr) {
      result_.unseen.push_back(rank);
    }
  }
  std::map<std::size_t, std::int32_t> rank_of;
  for (const auto& [rank, at] : nodes_) {
    rank_of.emplace(at, rank);
  }
  for (const Cause& cause : solve(net_).causes) {
    std::vector<std::size_t> of_ranks;
    std::ranges::copy_if(cause.nodes, std::back_inserter(of_ranks),
                         [&rank_of](std::size_t at) { return rank_of.contains(at); });
    const auto numbers = [&rank_of](const std::vector<std::size_t>& nodes) {
      std::vector<std::int32_t> ranks;
      std::transform(nodes.begin(), nodes.end(), std::back_inserter(ranks),
                     [&rank_of](std::size_t at) { return rank_of.at(at); });
      std::ranges::sort(ranks);
      return ranks;
    };
    if (cause.circle && of_ranks.size() > 1) {
      const std::vector<std::size_t> nodes(cause.nodes.begin(), cause.nodes.end());
      result_.circles.push_back({numbers(of_ranks), numbers(cuts_of(net_.out, nodes, of_ranks))});
    } else if (!cause.circle && !of_ranks.empty()) {  // it waits for nothing, so it is awaited
      result_.roots.push_back(rank_of.at(of_ranks[0]));
    }
  }
  std::ranges::sort(result_.roots);
}

}  // namespace

FlightWaits find_flight_waits(const FlightJob& job) {
  return Finder(job).run();
}

}  // namespace oddrank::aggregate
