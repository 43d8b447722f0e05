// The call of a communication library that a thread is in: its operation and its group.
#pragma once

#include <cstdint>
#include <string_view>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

enum class CallKind : std::uint8_t {
  kCollective = 0,  // all members must enter
  kSend,
  kRecv,
  kRendezvous,  // store, bootstrap, group creation
};

struct CollectiveCall {
  CallKind kind = CallKind::kCollective;
  StringId op{};     // "all_reduce"
  StringId group{};  // name of the group; "" = unknown
  StringId label{};  // the program's name for the group: "tp"; "" = unknown
  // True only with evidence that the group is the default one (all ranks): the frame's `group` is
  // None. If neither this nor the members are known, the group is unknown, not the world.
  bool whole_world = false;
  // Global ranks (snapshot/rank_text.h), as in ProcessGroup; empty = unknown, or whole_world.
  StringId members{};
  std::int32_t root = -1;  // global rank of src or dst; -1 = none or unknown
  std::int32_t peer = -1;  // of a send or receive
  // Which ones it may be, as in members, if the other side of a transfer is one of several. Then
  // peer is -1.
  StringId peers{};
  std::int32_t tag = -1;  // of a send or receive; -1 = any or unknown
  // MPI's one-sided calls: the rank whose part of the window is to be locked (-1 = none or
  // unknown), and those whose parts the process has locked for itself alone, as in members.
  std::int32_t wants_window = -1;
  StringId has_windows{};
  std::int64_t sequence = -1;  // number within the group; -1 = unknown
  StringId evidence{};         // "frame all_reduce (distributed_c10d.py:3170), group=None"

  bool operator==(const CollectiveCall&) const = default;
};

// Returns whether a Python frame inside of a function of torch.distributed is of code that runs
// before or after this calls the communication library: not torch's own (a method by which an
// object is pickled, a handler of a signal, a finaliser), or torch's that makes objects into
// tensors and back. The library may still be called from there.
constexpr bool runs_beside_call(std::string_view function, std::string_view file) {
  return file.find("torch/") == std::string_view::npos || function == "_object_to_tensor" ||
         function == "_tensor_to_object";
}

}  // namespace oddrank::snapshot
