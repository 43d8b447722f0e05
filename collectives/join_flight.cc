#include "collectives/join_flight.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "collectives/group_join.h"
#include "snapshot/flight_record.h"
#include "snapshot/loops/named_loop.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::FlightEntry;
using snapshot::FlightGroup;
using snapshot::FlightRecord;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

struct RecordedOp {
  std::string_view recorded;
  std::string_view function;  // the function that a program calls
  std::string_view family;    // functions with other names that end in the same operation
};
// ProcessGroupNCCL, ProcessGroupGloo, FlightRecorderHook.
constexpr std::array kOps = {
    RecordedOp{"all_reduce", "all_reduce", "all_reduce"},
    RecordedOp{"allreduce", "all_reduce", "all_reduce"},
    RecordedOp{"broadcast", "broadcast", "broadcast"},
    RecordedOp{"_broadcast_oop", "broadcast", "broadcast"},
    RecordedOp{"reduce", "reduce", "reduce"},
    RecordedOp{"_reduce_oop", "reduce", "reduce"},
    RecordedOp{"all_gather", "all_gather", "all_gather"},
    RecordedOp{"allgather", "all_gather", "all_gather"},
    RecordedOp{"_all_gather_base", "all_gather_into_tensor", "all_gather"},
    RecordedOp{"reduce_scatter", "reduce_scatter", "reduce_scatter"},
    RecordedOp{"_reduce_scatter_base", "reduce_scatter_tensor", "reduce_scatter"},
    RecordedOp{"all_reduce_barrier", "barrier", "barrier"},
    RecordedOp{"barrier", "barrier", "barrier"},
    RecordedOp{"all_to_all", "all_to_all", "all_to_all"},
    RecordedOp{"alltoall", "all_to_all", "all_to_all"},
    RecordedOp{"alltoall_base", "all_to_all_single", "all_to_all"},
    RecordedOp{"gather", "gather", "gather"},
    RecordedOp{"scatter", "scatter", "scatter"},
};
// "reduce_scatter_tensor" also begins with "reduce": the longest match counts.
constexpr std::array<std::string_view, 9> kFamilies = {"all_reduce",     "all_gather", "all_to_all",
                                                       "reduce_scatter", "broadcast",  "barrier",
                                                       "gather",         "scatter",    "reduce"};

const RecordedOp* find_op(std::string_view recorded) {
  const auto* at = std::find_if(kOps.begin(), kOps.end(), [recorded](const RecordedOp& one) {
    return one.recorded == recorded;
  });
  return at == kOps.end() ? nullptr : at;
}

std::string_view family_of(std::string_view function) {
  function.remove_prefix(function.starts_with('_') ? 1 : 0);
  std::string_view found;
  for (const std::string_view family : kFamilies) {
    if (function.starts_with(family) && family.size() > found.size()) {
      found = family;
    }
  }
  return found;
}

// Joins one rank's process to its dump.
class Joiner {
 public:
  Joiner(ProcessCapture& process, const FlightRecord& record, snapshot::Tables& tables)
      : process_(process), record_(record), tables_(tables) {}
  void run();

 private:
  bool is_open(const FlightEntry& entry) const;
  bool stood_still(const FlightEntry& entry) const;
  // Returns the oldest open entry; only of the given group, if there is one.
  const FlightEntry* oldest_open(const FlightGroup* group) const;
  bool is_default(const FlightGroup& group) const;
  // Returns the call's group; nullptr if it is unknown, or missing in the recorder.
  const FlightGroup* group_of(const CollectiveCall& call) const;
  void fill_group(const FlightGroup& group, CollectiveCall& call) const;
  void say(CollectiveCall& call, const FlightEntry& entry, std::string_view more);
  void join(ThreadCapture& thread);
  // Returns the call that the thread must wait in, whose group is unknown: the only open one, or
  // the oldest of those that this thread made, if they are of one group. nullptr if it is unclear.
  const FlightEntry* sole_open(const ThreadCapture& thread) const;
  bool fits(const FlightEntry& entry, std::string_view function) const;
  // Drops a number that the recorder gives to another operation.
  void check_number(CollectiveCall& call) const;
  // Returns the oldest of the open receives, or of the open sends if nothing is received: what a
  // device computes with was received before. nullptr if they are from or to several ranks.
  const FlightEntry* awaited_transfer() const;
  // Returns the global rank of the other side; -1: unknown.
  std::int32_t peer_of(const FlightEntry& entry) const;
  // Returns the thread of the program that waits for its device: the main thread, or else the only
  // one that does (autograd's, which runs Python hooks of a backward pass). nullptr if there is
  // none.
  ThreadCapture* waits_for_device() const;
  // Adds the call that it has begun to a thread that waits for its future, or asks again and again
  // whether it has ended.
  void add_begun(ThreadCapture& thread);
  bool asks_for_work(const ThreadCapture& thread) const;
  // A future of torch belongs to a collective, unless the process also makes calls of RPC.
  bool waits_for_future(const ThreadCapture& thread) const;
  // Adds the oldest open call to a thread that waits for its device: NCCL's calls return at once.
  void add_call(ThreadCapture& thread);
  bool add_transfer(const FlightEntry& entry, CollectiveCall& call) const;
  // Fills in the collective; returns false if its operation is unknown.
  bool add_collective(const FlightEntry& entry, CollectiveCall& call) const;

  ProcessCapture& process_;
  const FlightRecord& record_;
  snapshot::Tables& tables_;
};

void Joiner::run() {
  bool any = false;
  for (ThreadCapture& thread : process_.threads) {
    if (thread.call && thread.call->kind == CallKind::kCollective) {
      check_number(*thread.call);
      join(thread);
    } else if (!thread.call) {
      add_begun(thread);
    }
    any = any || thread.call.has_value();
  }
  if (ThreadCapture* thread = any ? nullptr : waits_for_device()) {
    add_call(*thread);
  }
}

bool Joiner::is_open(const FlightEntry& entry) const {
  return !entry.is_p2p && entry.group < record_.groups.size() &&
         !snapshot::has_ended(entry, tables_);
}

bool Joiner::stood_still(const FlightEntry& entry) const {
  return snapshot::stood_still(entry, record_, process_.read_us);
}

const FlightEntry* Joiner::oldest_open(const FlightGroup* group) const {
  const FlightEntry* oldest = nullptr;
  for (const FlightEntry& entry : record_.entries) {
    if (is_open(entry) && (group == nullptr || &record_.groups[entry.group] == group) &&
        (oldest == nullptr || entry.record < oldest->record)) {
      oldest = &entry;
    }
  }
  return oldest;
}

bool Joiner::is_default(const FlightGroup& group) const {
  return tables_.text(group.description) == snapshot::kDefaultGroup;
}

const FlightGroup* Joiner::group_of(const CollectiveCall& call) const {
  const auto& groups = record_.groups;
  const auto at = std::find_if(groups.begin(), groups.end(), [&](const FlightGroup& group) {
    return call.whole_world ? is_default(group)
                            : call.group != snapshot::StringId{} && group.name == call.group;
  });
  return at == groups.end() ? nullptr : &*at;
}

void Joiner::fill_group(const FlightGroup& group, CollectiveCall& call) const {
  const GroupJoin known(process_.groups, tables_);
  if (const auto* row = known.of_name("'" + std::string(tables_.text(group.name)) + "'")) {
    known.fill(*row, call);
    return;
  }
  call.whole_world = is_default(group);
  call.group = call.whole_world ? snapshot::StringId{} : group.name;
  call.members = call.whole_world ? snapshot::StringId{} : group.members;
}

void Joiner::say(CollectiveCall& call, const FlightEntry& entry, std::string_view more) {
  const std::string before(tables_.text(call.evidence));
  call.evidence = tables_.string(fmt::format("{}{}flight recorder: {} #{} has not ended{}", before,
                                             before.empty() ? "" : ", ", tables_.text(entry.op),
                                             entry.is_p2p ? entry.transfer : entry.sequence, more));
}

void Joiner::check_number(CollectiveCall& call) const {
  const FlightGroup* group = call.sequence >= 0 ? group_of(call) : nullptr;
  const bool denied =
      group != nullptr &&
      std::any_of(record_.entries.begin(), record_.entries.end(), [&](const FlightEntry& entry) {
        return entry.group < record_.groups.size() && &record_.groups[entry.group] == group &&
               !entry.is_p2p && entry.sequence == call.sequence &&
               !is_recorded_as(tables_.text(call.op), tables_.text(entry.op)) &&
               !function_of_recorded(tables_.text(entry.op)).empty();
      });
  if (denied && record_.from_memory) {
    call.sequence = -1;
  }
}

void Joiner::join(ThreadCapture& thread) {
  CollectiveCall& call = *thread.call;
  if (call.sequence >= 0) {
    return;
  }
  const bool has_group = call.whole_world || call.group != snapshot::StringId{};
  const FlightGroup* group = has_group ? group_of(call) : nullptr;
  if (has_group && group == nullptr) {
    return;
  }
  const FlightEntry* entry = has_group ? oldest_open(group) : sole_open(thread);
  if (entry == nullptr || !stood_still(*entry)) {
    return;
  }
  const std::string_view function = tables_.text(call.op);
  const std::string_view op = tables_.text(entry->op);
  if (has_group ? !is_recorded_as(function, op) : !fits(*entry, function)) {
    return;
  }
  if (!has_group) {
    fill_group(record_.groups[entry->group], call);
    if (function == "wait_tensor" || function.empty()) {
      call.op = tables_.string(function_of_recorded(op));
    }
  }
  call.sequence = entry->sequence;
  say(call, *entry, "");
}

bool Joiner::fits(const FlightEntry& entry, std::string_view function) const {
  return function == "wait_tensor" || function.empty()
             ? !function_of_recorded(tables_.text(entry.op)).empty()
             : is_recorded_as(function, tables_.text(entry.op));
}

const FlightEntry* Joiner::sole_open(const ThreadCapture& thread) const {
  std::vector<const FlightEntry*> open;
  for (const FlightEntry& entry : record_.entries) {
    if (is_open(entry)) {
      open.push_back(&entry);
    }
  }
  if (open.size() > 1 && record_.from_memory) {
    std::erase_if(open, [&](const FlightEntry* entry) {
      return entry->thread == snapshot::StringId{} || entry->thread != thread.name;
    });
    const bool one_group = std::all_of(open.begin(), open.end(), [&](const FlightEntry* entry) {
      return entry->group == open.front()->group;
    });
    open.resize(one_group && !open.empty() ? 1 : 0);
  }
  return open.size() == 1 ? open.front() : nullptr;
}

const FlightEntry* Joiner::awaited_transfer() const {
  for (const std::string_view op : {"recv", "send"}) {
    const FlightEntry* oldest = nullptr;
    bool several = false;
    for (const FlightEntry& entry : record_.entries) {
      if (!entry.is_p2p || entry.group >= record_.groups.size() || tables_.text(entry.op) != op ||
          snapshot::has_ended(entry, tables_)) {
        continue;
      }
      several = several ||
                (oldest != nullptr && (oldest->group != entry.group || oldest->peer != entry.peer));
      oldest = oldest == nullptr ? &entry : oldest;
    }
    if (oldest != nullptr) {
      return several || !record_.from_memory ? nullptr : oldest;
    }
  }
  return nullptr;
}

std::int32_t Joiner::peer_of(const FlightEntry& entry) const {
  const FlightGroup& group = record_.groups[entry.group];
  const auto known = std::find_if(process_.groups.begin(), process_.groups.end(),
                                  [&group](const auto& one) { return one.name == group.name; });
  if (known == process_.groups.end() || entry.peer < 0 || entry.peer >= known->size) {
    return -1;
  }
  const std::vector<std::int32_t> members = snapshot::ranks_of(tables_.text(known->members));
  const auto at = static_cast<std::size_t>(entry.peer);
  return members.empty() && known->is_default ? entry.peer : at < members.size() ? members[at] : -1;
}

bool Joiner::add_transfer(const FlightEntry& entry, CollectiveCall& call) const {
  call.kind = tables_.text(entry.op) == "send" ? CallKind::kSend : CallKind::kRecv;
  call.op = entry.op;
  call.peer = peer_of(entry);
  fill_group(record_.groups[entry.group], call);
  return call.peer >= 0;
}

bool Joiner::add_collective(const FlightEntry& entry, CollectiveCall& call) const {
  const std::string_view function = function_of_recorded(tables_.text(entry.op));
  call.op = tables_.string(function);
  call.sequence = entry.sequence;
  fill_group(record_.groups[entry.group], call);
  return !function.empty();
}

bool Joiner::asks_for_work(const ThreadCapture& thread) const {
  const auto asked = snapshot::asked_in_loop(thread, tables_);
  return asked && asked->on == snapshot::PollOn::kWork &&
         asked->by.owner == "torch._C._distributed_c10d.Work";
}

bool Joiner::waits_for_future(const ThreadCapture& thread) const {
  // Mangled names: torch::jit::PythonFutureWrapper::wait(), torch::distributed::rpc.
  constexpr std::string_view kWait = "19PythonFutureWrapper4wait";
  constexpr std::string_view kRpc = "5torch11distributed3rpc";
  const auto is_in = [this](const ThreadCapture& one, std::string_view function) {
    return !one.samples.empty() &&
           std::ranges::any_of(tables_.stack(one.samples.back().stack).frames, [&](auto id) {
             return tables_.text(tables_.frame(id).function).find(function) !=
                    std::string_view::npos;
           });
  };
  const auto& threads = process_.threads;
  return is_in(thread, kWait) &&
         std::none_of(threads.begin(), threads.end(),
                      [&](const ThreadCapture& one) { return is_in(one, kRpc); });
}

void Joiner::add_begun(ThreadCapture& thread) {
  const bool asks = asks_for_work(thread);
  if (!asks && !waits_for_future(thread)) {
    return;
  }
  const FlightEntry* entry = sole_open(thread);
  CollectiveCall call;
  if (entry == nullptr || !stood_still(*entry) || !add_collective(*entry, call)) {
    return;
  }
  say(call, *entry,
      asks ? ", and the thread asks again and again whether it has"
           : ", and the thread waits for a future of torch");
  thread.call = call;
}

ThreadCapture* Joiner::waits_for_device() const {
  std::vector<ThreadCapture*> found;
  for (ThreadCapture& thread : process_.threads) {
    if (thread.wait.on != snapshot::WaitOn::kDevice) {
      continue;
    }
    if (thread.tid == process_.pid) {
      return &thread;
    }
    if (thread.has_python) {
      found.push_back(&thread);
    }
  }
  return found.size() == 1 ? found.front() : nullptr;
}

void Joiner::add_call(ThreadCapture& thread) {
  const FlightEntry* entry = oldest_open(nullptr);
  const FlightEntry* transfer = awaited_transfer();
  if (transfer != nullptr && (entry == nullptr || transfer->record < entry->record)) {
    entry = transfer;
  }
  if (entry == nullptr || !stood_still(*entry)) {
    return;
  }
  CollectiveCall call;
  if (!(entry == transfer ? add_transfer(*entry, call) : add_collective(*entry, call))) {
    return;
  }
  say(call, *entry, ", and the thread waits for its device");
  thread.call = call;
}

}  // namespace

std::string_view function_of_recorded(std::string_view op) {
  const RecordedOp* found = find_op(op);
  return found == nullptr ? std::string_view() : found->function;
}

bool is_recorded_as(std::string_view function, std::string_view op) {
  const RecordedOp* found = find_op(op);
  return found != nullptr && found->family == family_of(function);
}

void join_flight(snapshot::Capture& capture) {
  // The newest dump of each rank; the process's own, if known.
  std::map<std::int32_t, const FlightRecord*> newest;
  for (const FlightRecord& record : capture.collectives.flight) {
    const FlightRecord*& best = newest[record.rank];
    if (best == nullptr || record.written_us > best->written_us) {
      best = &record;
    }
  }
  for (ProcessCapture& process : capture.processes) {
    const auto at = newest.find(process.rank);
    if (!process.is_rank || process.rank < 0 || at == newest.end() || at->second->cut ||
        (at->second->pid != 0 && at->second->pid != process.pid)) {
      continue;
    }
    Joiner(process, *at->second, capture.tables).run();
  }
}

}  // namespace oddrank::collectives
