// Finds the innermost call of a communication library on each stack.
//
// A stack has the call several times: torch.distributed's function, below it c10d, below that gloo
// or NCCL. The Python frame is the one that names operation, group and roots, so it is preferred;
// the native frames below it show whether the call still creates its communicator (then it is a
// rendezvous: the ranks that wait are not in the collective yet), and they are the only ones if the
// call came from C++ (DDP's backward, the threads of gloo).
#include "collectives/find_calls.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names/demangle.h"
#include "base/parse_number.h"
#include "collectives/call_frames.h"
#include "collectives/call_table.h"
#include "collectives/group_evidence.h"
#include "collectives/group_join.h"
#include "collectives/number_calls.h"
#include "collectives/possible_transfers.h"
#include "snapshot/rank_text.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ThreadCapture;

constexpr std::string_view kBatch = "batch_isend_irecv";

struct NativeMatch {
  const NativeCall* call = nullptr;
  std::size_t index = 0;
};

struct NativeMatches {
  NativeMatch innermost;   // any
  NativeMatch named;       // innermost whose operation is known
  NativeMatch rendezvous;  // innermost that creates something
  // The only call is a store's: the program itself waits for a key, and no group is being made.
  bool only_store = true;
};

NativeMatches match_native(const CallFrames& frames, std::size_t end) {
  NativeMatches matches;
  const auto keep = [](NativeMatch& slot, const NativeCall* call, std::size_t index) {
    if (slot.call == nullptr) {
      slot = {call, index};
    }
  };
  for (std::size_t i = 0; i < end; ++i) {
    if (frames.is_python(i)) {
      continue;
    }
    const NativeCall* call = find_native_call(frames.function(i));
    if (call == nullptr) {
      if (short_name(frames.function(i)).starts_with("c10d::ProcessGroup")) {
        matches.only_store = false;  // it makes its communicator
      }
      continue;
    }
    matches.only_store = matches.only_store && call->of_store;
    keep(matches.innermost, call, i);
    if (!call->op.empty()) {
      keep(matches.named, call, i);
    }
    if (call->kind == CallKind::kRendezvous) {
      keep(matches.rendezvous, call, i);
    }
  }
  return matches;
}

struct PythonMatch {
  const PythonCall* call = nullptr;
  std::size_t index = 0;
};

PythonMatch match_python(const CallFrames& frames, std::size_t from) {
  for (std::size_t i = from; i < frames.size(); ++i) {
    if (!frames.is_python(i)) {
      continue;
    }
    if (const PythonCall* call = find_python_call(frames.function(i), frames.file(i))) {
      return {call, i};
    }
  }
  return {};
}

// Returns the innermost call; for an initialisation, its outermost function, because the program
// called that one and the functions within it are mostly private.
PythonMatch innermost_call(const CallFrames& frames) {
  PythonMatch match = match_python(frames, 0);
  while (match.call != nullptr && match.call->kind == CallKind::kRendezvous) {
    const PythonMatch outer = match_python(frames, match.index + 1);
    if (outer.call == nullptr || outer.call->kind != CallKind::kRendezvous) {
      break;
    }
    match = outer;
  }
  return match;
}

// Returns the evidence of the call itself, or of the object collective that passes its group on.
std::optional<std::string> world_evidence(const CallFrames& frames, const PythonMatch& match) {
  if (auto evidence = default_group_evidence(frames, match.index, *match.call)) {
    return evidence;
  }
  const PythonMatch outer = match_python(frames, match.index + 1);
  if (outer.call == nullptr || !outer.call->passes_group_on) {
    return std::nullopt;
  }
  const auto evidence = default_group_evidence(frames, outer.index, *outer.call);
  return evidence ? std::optional(frames.describe(outer.index) + ", " + *evidence) : std::nullopt;
}

std::int32_t number_of(const CallFrames& frames, std::size_t index, std::string_view name) {
  const auto text = frames.local(index, name);
  const auto number = text ? parse_number<std::int32_t>(*text) : std::nullopt;
  return number && *number >= 0 ? *number : -1;
}

// The group of a call, and the evidence for it.
struct FoundGroup {
  const snapshot::ProcessGroup* row = nullptr;  // null: not one that was read
  bool whole_world = false;                     // with or without a row
  std::string evidence;
};

// Returns the other side as a global rank. `src` is one (torch up to 2.x has no other); `group_src`
// is a rank within the group, the same number only in the group of all ranks.
std::int32_t other_side(const CallFrames& frames,
                        std::size_t index,
                        const FoundGroup& group,
                        const GroupJoin& groups,
                        std::string_view name) {
  const std::int32_t global = number_of(frames, index, name);
  if (global >= 0) {
    return global;
  }
  const std::int32_t within = number_of(frames, index, "group_" + std::string(name));
  return group.row != nullptr ? groups.global_rank(*group.row, within)
                              : (group.whole_world ? within : -1);
}

void read_peer(const CallFrames& frames,
               const PythonMatch& match,
               const FoundGroup& group,
               const GroupJoin& groups,
               CollectiveCall& call) {
  const PeerLocal peer = match.call->peer;
  if (peer == PeerLocal::kNone) {
    return;
  }
  const bool is_source = peer == PeerLocal::kSrcIsRoot || peer == PeerLocal::kSrcIsPeer;
  const std::int32_t rank =
      other_side(frames, match.index, group, groups, is_source ? "src" : "dst");
  const bool is_root = peer == PeerLocal::kSrcIsRoot || peer == PeerLocal::kDstIsRoot;
  (is_root ? call.root : call.peer) = rank;
}

// Finds the group from the frame's own locals, else from the call, else because it is the only
// group.
FoundGroup find_group(const CallFrames& frames, const PythonMatch& match, const GroupJoin& groups) {
  FoundGroup found;
  if (const auto text = frames.local(match.index, "group")) {
    found.row = groups.of_object(*text);
    found.evidence = "group=" + std::string(*text);
  }
  if (const auto text = frames.local(match.index, "group_name"); found.row == nullptr && text) {
    found.row = groups.of_name(*text);
    found.evidence = "group_name=" + std::string(*text);
  }
  if (found.row != nullptr) {
    found.whole_world = found.row->is_default;
    return found;
  }
  if (auto world = world_evidence(frames, match)) {
    return {nullptr, true, std::move(*world)};
  }
  if (match.call->kind != CallKind::kRendezvous && groups.only() != nullptr) {
    return {groups.only(), groups.only()->is_default, "the only group of this process"};
  }
  return found;
}

void set_group(const FoundGroup& found, const GroupJoin& groups, CollectiveCall& call) {
  call.whole_world = found.whole_world;
  if (found.row != nullptr) {
    groups.fill(*found.row, call);
  }
}

// Fills in the other side, or the possible ones.
void set_transfers(const PossibleTransfers& found,
                   const GroupJoin& groups,
                   snapshot::Tables& tables,
                   CollectiveCall& call,
                   std::string& evidence) {
  if (found.operations.empty()) {
    return;
  }
  const auto& all = found.operations;
  const std::vector<std::int32_t> peers = peers_of(all);
  if (all.size() == 1) {
    call.kind = all.front().receives ? CallKind::kRecv : CallKind::kSend;
  }
  call.peer = peers.size() == 1 ? peers.front() : -1;
  call.peers = peers.size() == 1 ? snapshot::StringId{} : tables.string(snapshot::rank_text(peers));
  const bool one_group = std::all_of(all.begin(), all.end(), [&](const P2pOperation& one) {
    return one.group == all.front().group;
  });
  const auto* group = one_group ? groups.of_object(all.front().group) : nullptr;
  if (group != nullptr) {
    groups.fill(*group, call);
  }
  evidence += ", " + found.evidence;
}

// Returns whether the transfer is one of several that go together.
bool is_batched(const CallFrames& frames, const PythonMatch& match) {
  const PythonMatch outer = match_python(frames, match.index + 1);
  return match.call->function == kBatch ||
         (outer.call != nullptr && outer.call->function == kBatch);
}

// The first send or receive between two ranks makes their communicator: no other rank has to come
// (ProcessGroupNCCL::pointToPoint(); for a batch, all ranks of the group). Both sides meet in one
// call, whichever direction each wants.
void meet_in_pair(std::int32_t rank, snapshot::Tables& tables, CollectiveCall& call) {
  call.op = tables.string("send or recv");
  call.whole_world = false;
  call.group = {};
  call.label = {};
  const std::array<std::int32_t, 2> both = {std::min(rank, call.peer), std::max(rank, call.peer)};
  call.members = tables.string(snapshot::rank_text(both));
  call.peer = -1;
}

// Returns the ranks that have to come to new_group() if it synchronises only its members; empty:
// all ranks have to, or the list is not known whole.
std::vector<std::int32_t> members_that_meet(const CallFrames& frames, const PythonMatch& match) {
  const auto local = frames.local(match.index, "use_local_synchronization");
  const auto ranks = frames.local(match.index, "ranks");
  std::vector<std::int32_t> members;
  if (match.call->function != "new_group" || local != "True" || !ranks) {
    return members;
  }
  for (const std::string_view value : all_values(*ranks)) {
    const auto rank = parse_number<std::int32_t>(value);
    if (!rank || *rank < 0) {
      return {};
    }
    members.push_back(*rank);
  }
  std::sort(members.begin(), members.end());
  return members;
}

// `rank`: of the process; -1 = unknown.
CollectiveCall python_call(const CallFrames& frames,
                           const PythonMatch& match,
                           const NativeMatches& native,
                           const GroupJoin& groups,
                           std::int32_t rank,
                           snapshot::Tables& tables) {
  CollectiveCall call;
  call.kind = match.call->kind;
  call.op = tables.string(match.call->function);
  std::string evidence = "frame " + frames.describe(match.index);
  const FoundGroup group = find_group(frames, match, groups);
  set_group(group, groups, call);
  if (!group.evidence.empty()) {
    evidence += ", " + group.evidence;
  }
  if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    set_transfers(possible_transfers(frames, match.index, std::nullopt), groups, tables, call,
                  evidence);
  }
  if (const auto members = members_that_meet(frames, match); !members.empty()) {
    call.members = tables.string(snapshot::rank_text(members));
    evidence += ", use_local_synchronization=True";
  }
  read_peer(frames, match, group, groups, call);
  if (native.rendezvous.call != nullptr && call.kind != CallKind::kRendezvous) {
    const bool of_two = call.kind == CallKind::kSend || call.kind == CallKind::kRecv;
    call.kind = CallKind::kRendezvous;
    evidence += ", still in " + frames.describe(native.rendezvous.index);
    if (of_two && rank >= 0 && call.peer >= 0 && call.peer != rank && !is_batched(frames, match)) {
      meet_in_pair(rank, tables, call);
    }
  }
  call.evidence = tables.string(evidence);
  return call;
}

// A meeting of all workers of torch.distributed.rpc. They are the job's ranks if there are as many;
// each names itself as it likes. `worker_names` is a set by then, whatever the caller gave.
CollectiveCall rpc_call(const CallFrames& frames,
                        const PythonMatch& match,
                        std::int32_t world_size,
                        snapshot::Tables& tables) {
  CollectiveCall call;
  call.op = tables.string("all_gather");
  call.group = tables.string(snapshot::kRpcWorkers);
  std::string evidence = "frame " + frames.describe(match.index);
  const auto names = frames.local(match.index, "worker_names");
  const auto count = names ? braced_size(*names, "set") : std::nullopt;
  if (count && world_size > 1 && *count == static_cast<std::size_t>(world_size)) {
    std::vector<std::int32_t> all(*count);
    std::iota(all.begin(), all.end(), 0);
    call.members = tables.string(snapshot::rank_text(all));
    evidence += ", " + std::to_string(*count) + " workers";
  }
  call.sequence = number_of(frames, match.index, "sequence_num");
  call.evidence = tables.string(evidence);
  return call;
}

// Returns the innermost Python frame outside of a native one; the number of frames if there is
// none.
std::size_t python_caller(const CallFrames& frames, std::size_t native) {
  std::size_t caller = native;
  while (caller < frames.size() && !frames.is_python(caller)) {
    ++caller;
  }
  return caller;
}

// A wait for a request that does not show which way it goes, in a function that waits for transfers
// only: it is for a receive, if there is one.
void set_exchange(const CallFrames& frames,
                  std::size_t caller,
                  const GroupJoin& groups,
                  snapshot::Tables& tables,
                  CollectiveCall& call,
                  std::string& evidence) {
  const PossibleTransfers found = possible_transfers(frames, caller, std::nullopt);
  const bool receives = std::any_of(found.operations.begin(), found.operations.end(),
                                    [](const P2pOperation& one) { return one.receives; });
  call.kind = receives || found.operations.empty() ? CallKind::kRecv : CallKind::kSend;
  call.op = tables.string(call.kind == CallKind::kRecv ? "recv" : "send");
  set_transfers(found, groups, tables, call, evidence);
}

// Takes the other side from gloo's objects, which say more than the frames around the wait: these
// may hold several transfers. Returns false if they say nothing.
bool take_peers(const Boxed<CollectiveCall>& in_memory,
                const snapshot::Tables& tables,
                CollectiveCall& call,
                std::string& evidence) {
  if (!in_memory || (in_memory->peer < 0 && in_memory->peers == snapshot::StringId{})) {
    return false;
  }
  call.peer = in_memory->peer;
  call.peers = in_memory->peers;
  call.tag = in_memory->tag;
  if (in_memory->whole_world || in_memory->group != snapshot::StringId{}) {
    call.whole_world = in_memory->whole_world;
    call.group = in_memory->group;
    call.label = in_memory->label;
    call.members = in_memory->members;
  }
  evidence += ", " + std::string(tables.text(in_memory->evidence));
  return true;
}

// Adds what MPI's objects say of the call.
void take_from_memory(const NativeCall& row,
                      const Boxed<CollectiveCall>& in_memory,
                      const snapshot::Tables& tables,
                      CollectiveCall& call,
                      std::string& evidence) {
  if (row.op == "finalize") {
    call.whole_world = true;  // MPI-3.1, 8.7: collective over all connected processes
    return;
  }
  // A word on the stack may lead to the lock that an earlier call asked for.
  const bool of_window = in_memory && in_memory->wants_window >= 0;
  if (!in_memory || call.kind == CallKind::kRendezvous ||
      (of_window && !row.name.starts_with("MPI_Win_"))) {
    return;
  }
  const bool of_collective = in_memory->kind == CallKind::kCollective;
  const bool has_sides = in_memory->peer >= 0 || in_memory->peers != snapshot::StringId{};
  if (row.of_request && (of_collective || has_sides)) {
    call.kind = in_memory->kind;
  }
  if (call.kind == CallKind::kCollective || in_memory->kind == call.kind) {
    call.group = in_memory->group;
    call.label = in_memory->label;
    call.members = in_memory->members;
  }
  if (call.kind != CallKind::kCollective) {
    call.peer = in_memory->peer;
    call.peers = in_memory->peers;
    call.tag = in_memory->tag;
    call.wants_window = in_memory->wants_window;
    call.has_windows = in_memory->has_windows;
  }
  if (!tables.text(in_memory->evidence).empty()) {
    evidence += ", " + std::string(tables.text(in_memory->evidence));
  }
}

CollectiveCall native_call(const CallFrames& frames,
                           const NativeMatches& native,
                           const GroupJoin& groups,
                           const Boxed<CollectiveCall>& in_memory,
                           snapshot::Tables& tables) {
  const NativeMatch& match = native.named.call != nullptr && native.rendezvous.call == nullptr
                                 ? native.named
                                 : native.innermost;
  CollectiveCall call;
  call.kind = native.rendezvous.call != nullptr ? CallKind::kRendezvous : match.call->kind;
  call.op = tables.string(match.call->op);
  std::string evidence = "frame " + frames.describe(match.index);
  const std::size_t caller = python_caller(frames, match.index);
  // The groups of torchft are not torch's: it makes them anew after each quorum.
  const bool of_torchft =
      caller < frames.size() && frames.file(caller).find("torchft/") != std::string_view::npos;
  const bool of_torch = match.call->name.starts_with("c10d::");
  const bool of_members = call.kind == CallKind::kCollective || call.kind == CallKind::kRendezvous;
  if (of_torchft && of_members && match.call->name.find("torchft") == std::string_view::npos) {
    call.group = tables.string(snapshot::kAcrossReplicas);
  } else if (call.kind != CallKind::kRendezvous && of_torch && groups.only() != nullptr) {
    groups.fill(*groups.only(), call);
    evidence += ", the only group of this process";
  }
  if (match.call->name.starts_with("shm_")) {
    // Its frames do not say which group it belongs to.
    const std::vector<std::int32_t> members = groups.common_members();
    call.members = members.empty() ? call.members : tables.string(snapshot::rank_text(members));
    evidence += members.empty() ? "" : ", all groups of this process have the same members";
  }
  if (match.call->op == "quorum") {
    call.group = tables.string(snapshot::kLighthouse);
  }
  call.whole_world = call.whole_world || match.call->op == "should_commit";
  const bool of_transfers = of_torch && !of_torchft && call.kind == CallKind::kCollective &&
                            match.call->op.empty() && caller < frames.size() &&
                            waits_for_transfers(frames, caller);
  const bool of_jax = match.call->name.starts_with("gloo::") && call.kind == CallKind::kCollective;
  if (match.call->name.starts_with("MPI_") || of_jax) {
    take_from_memory(*match.call, in_memory, tables, call, evidence);
  } else if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    if (!of_torch || !take_peers(in_memory, tables, call, evidence)) {
      set_transfers(possible_transfers(frames, caller, call.kind), groups, tables, call, evidence);
    }
  } else if (of_transfers) {
    set_exchange(frames, caller, groups, tables, call, evidence);
  }
  call.evidence = tables.string(evidence);
  return call;
}

// Returns whether the thread is in other code, within the function that makes the call: then it has
// not entered the call yet, or has left it. (A group may itself be Python code, which the library
// calls.) Unknown if the native frames are unknown.
bool is_beside_call(const CallFrames& frames,
                    const PythonMatch& python,
                    const NativeMatches& native) {
  if (python.call->kind == CallKind::kRendezvous || native.innermost.call != nullptr ||
      frames.is_python(0)) {
    return false;
  }
  bool beside = false;
  for (std::size_t i = 0; i < python.index; ++i) {
    if (!frames.is_python(i) && frames.function(i).find("c10d") != std::string_view::npos) {
      return false;
    }
    beside = beside || (frames.is_python(i) &&
                        snapshot::runs_beside_call(frames.function(i), frames.file(i)));
  }
  return beside;
}

std::optional<CollectiveCall> find_call(const ThreadCapture& thread,
                                        const GroupJoin& groups,
                                        const snapshot::ProcessCapture& process,
                                        snapshot::Tables& tables) {
  if (thread.wants_gil) {
    return std::nullopt;  // it has not entered the library yet, or has left it
  }
  const CallFrames frames(thread, tables, false);
  const CallFrames apart(thread, tables, true);
  const CallFrames& python_frames = apart.size() > 0 ? apart : frames;
  const PythonMatch python = innermost_call(python_frames);
  const bool merged = &python_frames == &frames;
  // Native frames inside of the Python call; if the stacks are not merged, all native frames may
  // be.
  const NativeMatches native =
      match_native(frames, python.call != nullptr && merged ? python.index : frames.size());
  // While it creates a communicator and waits in the driver, it does not wait for another rank.
  if (native.innermost.call != nullptr && native.innermost.call->kind == CallKind::kRendezvous &&
      thread.wait.on == snapshot::WaitOn::kDevice) {
    return std::nullopt;
  }
  if (python.call != nullptr && python.call->file == kRpcFile) {
    return rpc_call(python_frames, python, process.world_size, tables);  // is Python code itself
  }
  if (python.call != nullptr && merged && is_beside_call(frames, python, native)) {
    return std::nullopt;
  }
  if (python.call != nullptr) {
    CollectiveCall call = python_call(python_frames, python, merged ? native : NativeMatches{},
                                      groups, process.is_rank ? process.rank : -1, tables);
    // The local variable says less: NCCL has no tags.
    const bool transfers = call.kind == CallKind::kSend || call.kind == CallKind::kRecv;
    call.tag = transfers && thread.call ? thread.call->tag : -1;
    return call;
  }
  if (native.innermost.call != nullptr && !native.only_store) {
    return native_call(frames, native, groups, thread.call, tables);
  }
  return std::nullopt;
}

}  // namespace

void find_calls(snapshot::Capture& capture) {
  for (snapshot::ProcessCapture& process : capture.processes) {
    const GroupJoin groups(process.groups, capture.tables);
    for (ThreadCapture& thread : process.threads) {
      thread.call = find_call(thread, groups, process, capture.tables);
    }
    number_calls(process, capture.tables);
  }
}

}  // namespace oddrank::collectives
