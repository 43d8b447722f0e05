#include "snapshot/replicas/number_replicas.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/flight_record.h"
#include "snapshot/rank_text.h"
#include "snapshot/replicas/place_replicas.h"

namespace oddrank::snapshot {
namespace {

// Changes the numbers of processes, and of all that names ranks by the numbers in their replicas.
class Numbering {
 public:
  explicit Numbering(Capture& capture) : capture_(capture), replicas_(capture) {}
  void run();

 private:
  void find_those_alike();
  void number(ProcessCapture& process, const ReplicaPlace& place);
  void number(const ProcessCapture& process, FlightRecord& record);
  void number(const ProcessCapture& process, CollectiveCall& call);
  void number(ProcessGroup& group);
  void number_beside();
  void begin(const ReplicaPlace& place, std::int32_t from, std::int32_t to);
  void shift(std::int32_t& rank) const;
  void shift(StringId& list);
  // Returns whether the lists that are made have room for so many more.
  bool affords(std::size_t ranks);
  StringId members_of(const ProcessCapture& process, bool alike);
  StringId lighthouse_of(const ProcessCapture& process);
  StringId string(std::string_view text) { return capture_.tables.string(text); }

  Capture& capture_;
  const Replicas replicas_;
  // By job and number in the replica: the ranks that have called for a quorum at least once, by the
  // thread that does so (manager.py). No other can be in a group that a quorum has made.
  std::map<std::pair<StringId, std::int32_t>, std::vector<std::int32_t>> alike_;
  // Lists that were made before, by the replica or list that they were made from.
  std::map<std::pair<StringId, std::int32_t>, StringId> members_;
  std::map<std::pair<StringId, std::int32_t>, StringId> shifted_;
  std::map<const ReplicaPlace*, StringId> of_replica_;
  std::size_t left_ = kMaxListedRanks;
  std::int32_t by_ = 0;  // added to the numbers
  StringId all_{};       // the ranks of the replica, as members
};

void Numbering::find_those_alike() {
  for (const ProcessCapture& process : capture_.processes) {
    const ReplicaPlace* place = process.is_rank ? replicas_.of(process) : nullptr;
    const auto calls_for_quorum = [this](const ThreadCapture& thread) {
      return capture_.tables.text(thread.python_name).starts_with("async_quorum");
    };
    if (place != nullptr && std::ranges::any_of(process.threads, calls_for_quorum)) {
      alike_[{process.job_key, process.replica_rank}].push_back(place->first +
                                                                process.replica_rank);
    }
  }
}

// Begins with a process (or record) whose replica has the numbers from `from` on, and is to have
// those from `to` on.
void Numbering::begin(const ReplicaPlace& place, std::int32_t from, std::int32_t to) {
  by_ = from < 0 || from >= kMaxReplicaNumber ? 0 : to - from;
  StringId& all = of_replica_[&place];
  if (all == StringId{} && affords(static_cast<std::size_t>(place.size))) {
    all = string(range_text(place.first, place.size));
  }
  all_ = all;
}

void Numbering::shift(std::int32_t& rank) const {
  if (rank >= 0) {
    rank = rank < kMaxReplicaNumber ? std::max(rank + by_, -1) : -1;
  }
}

void Numbering::shift(StringId& list) {
  if (list == StringId{} || by_ == 0) {
    return;
  }
  const auto [at, is_new] = shifted_.try_emplace({list, by_});
  if (is_new) {
    std::vector<std::int32_t> ranks =
        ranks_of(capture_.tables.text(list), std::min(left_, kMaxRanks));
    std::ranges::for_each(ranks, [this](std::int32_t& rank) { shift(rank); });
    const bool known =
        std::ranges::find(ranks, -1) == ranks.end() && !ranks.empty() && affords(ranks.size());
    at->second = known ? string(rank_text(ranks)) : StringId{};
  }
  list = at->second;
}

bool Numbering::affords(std::size_t ranks) {
  const bool enough = ranks <= left_;
  left_ -= enough ? ranks : 0;
  return enough;
}

// Returns the ranks of the job, or those with the number of this one in its replica.
StringId Numbering::members_of(const ProcessCapture& process, bool alike) {
  const std::int32_t rank = alike ? process.replica_rank : -1;
  const auto [at, is_new] = members_.try_emplace({process.job_key, rank});
  const std::int32_t size = replicas_.ranks_of(process.job_key);
  if (is_new && alike) {
    std::vector<std::int32_t>& ranks = alike_[{process.job_key, rank}];
    std::ranges::sort(ranks);
    at->second = string(rank_text(ranks));
  } else if (is_new && affords(static_cast<std::size_t>(size))) {
    at->second = string(range_text(0, size));
  }
  return at->second;
}

// Returns "lighthouse n0:29510" of the job "torchft n0:29510".
StringId Numbering::lighthouse_of(const ProcessCapture& process) {
  const std::string job(capture_.tables.text(process.job_key));
  return string(std::string(kLighthouse) + job.substr(std::min(job.find(' '), job.size())));
}

void Numbering::number(ProcessGroup& group) {
  if (group.is_default) {
    group.is_default = false;
    group.label = string(kDefaultOfReplica);
    group.members = all_;
  } else {
    shift(group.members);
  }
}

void Numbering::number(const ProcessCapture& process, CollectiveCall& call) {
  const std::string group(capture_.tables.text(call.group));
  shift(call.root);
  shift(call.peer);
  shift(call.peers);
  if (is_of_replicas(group)) {
    const bool alike = group == kAcrossReplicas;
    call.members = members_of(process, alike);
    call.label = alike ? call.label : lighthouse_of(process);
  } else if (call.whole_world) {
    const auto own =
        std::ranges::find(process.groups, string(kDefaultOfReplica), &ProcessGroup::label);
    call.whole_world = false;
    call.label = string(kDefaultOfReplica);
    call.group = own == process.groups.end() ? call.label : own->name;
    call.members = all_;
  } else if (call.kind == CallKind::kRendezvous && group.empty() && call.members == StringId{}) {
    call.members = all_;
  } else {
    shift(call.members);
  }
}

void Numbering::number(ProcessCapture& process, const ReplicaPlace& place) {
  const std::int32_t rank = place.first + process.replica_rank;
  begin(place, process.rank, rank);
  process.rank = rank;
  if (process.is_rank) {
    const std::string replica = "replica " + std::to_string(place.number);
    std::string part;
    if (process.role != JobRole::kUnknown) {
      const std::string_view label = capture_.tables.text(process.label);
      part = label.substr(0, label.find(" of replica "));  // an earlier call has added that
    } else if (place.size > 1) {
      part = "rank " + std::to_string(process.replica_rank);
    }
    process.label = string(part.empty() ? replica : part + " of " + replica);
  }
  for (ProcessGroup& group : process.groups) {
    number(group);
  }
  for (ThreadCapture& thread : process.threads) {
    if (thread.call) {
      number(process, *thread.call);
    }
  }
}

// `process`: the one that the recorder is of, already numbered.
void Numbering::number(const ProcessCapture& process, FlightRecord& record) {
  begin(*replicas_.of(process), record.rank, process.rank);
  record.rank = process.rank;
  for (FlightGroup& group : record.groups) {
    const auto own = std::ranges::find(process.groups, group.name, &ProcessGroup::name);
    const bool is_default = capture_.tables.text(group.description) == kDefaultGroup;
    if (own != process.groups.end() && own->members != StringId{}) {
      group.members = own->members;
    } else if (is_default) {
      group.members = all_;
    } else {
      shift(group.members);
    }
    group.description = is_default ? string(kDefaultOfReplica) : group.description;
  }
}

// Numbers recorders and lines of logs. If their process was not read, they may belong to any
// replica: recorders are left out and lines lose their numbers, unless they may belong to another
// job.
void Numbering::number_beside() {
  std::map<std::pair<std::uint32_t, pid_t>, const ProcessCapture*> known;
  bool all = true;
  for (const ProcessCapture& process : capture_.processes) {
    known.emplace(std::pair(process.node, process.pid), &process);
    all = all && (!process.is_rank || process.rank < 0 || replicas_.of(process) != nullptr);
  }
  std::erase_if(capture_.collectives.flight, [&](FlightRecord& record) {
    const auto process = known.find({record.node, record.pid});
    if (process != known.end() && replicas_.of(*process->second) != nullptr) {
      number(*process->second, record);
      return false;
    }
    return process == known.end() && all;
  });
  for (LogLine& line : capture_.collectives.log) {
    line.rank = all ? -1 : line.rank;
    line.behind.resize(all ? 0 : line.behind.size());
  }
}

void Numbering::run() {
  if (replicas_.most() < 0) {
    return;
  }
  find_those_alike();
  for (ProcessCapture& process : capture_.processes) {
    if (const ReplicaPlace* place = replicas_.of(process)) {
      number(process, *place);
      if (process.node < capture_.nodes.size()) {
        capture_.nodes[process.node].expected_ranks.clear();  // are numbers of one replica
      }
    }
  }
  number_beside();
  capture_.job.world_size = replicas_.most();
}

}  // namespace

void number_replicas(Capture& capture) {
  Numbering(capture).run();
}

std::int32_t ranks_of_replicas(const Capture& capture) {
  return Replicas(capture).most();
}

}  // namespace oddrank::snapshot
