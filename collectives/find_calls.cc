// The innermost call of a communication library on each stack.
//
// A stack has the call several times: torch.distributed's function, below it c10d, below that gloo
// or NCCL. The Python frame is the one that names operation, group and roots, so it is preferred;
// the native frames below it tell whether the call still creates its communicator (then it is a
// rendezvous: the ranks that wait are not in the collective yet), and they are all there is where
// the call came from C++ (DDP's backward, the threads of gloo).
#include "collectives/find_calls.h"

#include <optional>
#include <string>

#include "base/parse_number.h"
#include "collectives/call_frames.h"
#include "collectives/call_table.h"
#include "collectives/group_evidence.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ThreadCapture;

struct NativeMatch {
  const NativeCall* call = nullptr;
  std::size_t index = 0;
};

struct NativeMatches {
  NativeMatch innermost;   // any
  NativeMatch named;       // innermost that tells its operation
  NativeMatch rendezvous;  // innermost that creates something
};

NativeMatches match_native(const CallFrames& frames, std::size_t end) {
  NativeMatches matches;
  const auto keep = [](NativeMatch& slot, const NativeCall* call, std::size_t index) {
    if (slot.call == nullptr) {
      slot = {call, index};
    }
  };
  for (std::size_t i = 0; i < end; ++i) {
    const NativeCall* call = frames.is_python(i) ? nullptr : find_native_call(frames.function(i));
    if (call == nullptr) {
      continue;
    }
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

// Initialisation is a nest of functions, most of them private; the outermost one is what the
// program called.
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

// Of the call itself, or of the object collective that hands its own group on to it.
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

// The other side as a global rank. `src` is one (torch up to 2.x knows no other); `group_src` is a
// rank of the group, the same number only in the group of all ranks.
std::int32_t other_side(const CallFrames& frames,
                        std::size_t index,
                        bool whole_world,
                        std::string_view name) {
  const std::int32_t global = number_of(frames, index, name);
  return global < 0 && whole_world ? number_of(frames, index, "group_" + std::string(name))
                                   : global;
}

void read_peer(const CallFrames& frames, const PythonMatch& match, CollectiveCall& call) {
  const PeerLocal peer = match.call->peer;
  if (peer == PeerLocal::kNone) {
    return;
  }
  const bool is_source = peer == PeerLocal::kSrcIsRoot || peer == PeerLocal::kSrcIsPeer;
  const std::int32_t rank =
      other_side(frames, match.index, call.whole_world, is_source ? "src" : "dst");
  const bool is_root = peer == PeerLocal::kSrcIsRoot || peer == PeerLocal::kDstIsRoot;
  (is_root ? call.root : call.peer) = rank;
}

CollectiveCall python_call(const CallFrames& frames,
                           const PythonMatch& match,
                           const NativeMatches& native,
                           snapshot::Tables& tables) {
  CollectiveCall call;
  call.kind = match.call->kind;
  call.op = tables.string(match.call->function);
  std::string evidence = "frame " + frames.describe(match.index);
  if (const auto world = world_evidence(frames, match)) {
    call.whole_world = true;
    evidence += ", " + *world;
  } else if (const auto group = frames.local(match.index, "group")) {
    evidence += ", group=" + std::string(*group);
  }
  if (native.rendezvous.call != nullptr && call.kind != CallKind::kRendezvous) {
    call.kind = CallKind::kRendezvous;
    evidence += ", still in " + frames.describe(native.rendezvous.index);
  }
  read_peer(frames, match, call);
  call.evidence = tables.string(evidence);
  return call;
}

CollectiveCall native_call(const CallFrames& frames,
                           const NativeMatches& native,
                           snapshot::Tables& tables) {
  const NativeMatch& match = native.named.call != nullptr && native.rendezvous.call == nullptr
                                 ? native.named
                                 : native.innermost;
  CollectiveCall call;
  call.kind = native.rendezvous.call != nullptr ? CallKind::kRendezvous : match.call->kind;
  call.op = tables.string(match.call->op);
  call.evidence = tables.string("frame " + frames.describe(match.index));
  return call;
}

std::optional<CollectiveCall> find_call(const ThreadCapture& thread, snapshot::Tables& tables) {
  const CallFrames frames(thread, tables, false);
  const CallFrames apart(thread, tables, true);
  const CallFrames& python_frames = apart.size() > 0 ? apart : frames;
  const PythonMatch python = innermost_call(python_frames);
  const bool merged = &python_frames == &frames;
  // Native frames inside of the Python call; where the stacks are apart, all of them may be.
  const NativeMatches native =
      match_native(frames, python.call != nullptr && merged ? python.index : frames.size());
  if (python.call != nullptr) {
    return python_call(python_frames, python, merged ? native : NativeMatches{}, tables);
  }
  if (native.innermost.call != nullptr) {
    return native_call(frames, native, tables);
  }
  return std::nullopt;
}

}  // namespace

void find_calls(snapshot::Capture& capture) {
  for (snapshot::ProcessCapture& process : capture.processes) {
    for (ThreadCapture& thread : process.threads) {
      thread.call = find_call(thread, capture.tables);
    }
  }
}

}  // namespace oddrank::collectives
