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

// The group of a call in which workers of torch.distributed.rpc meet, for example to end.
inline constexpr std::string_view kRpcWorkers = "RPC workers";

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
  // The possible peers, as in members, if the other side of a transfer is one of several. Then peer
  // is -1.
  StringId peers{};
  std::int32_t tag = -1;  // of a send or receive; -1 = any or unknown
  // MPI's one-sided calls: the rank whose part of the window the process wants to lock (-1 = none
  // or unknown), and the ranks whose parts it has locked exclusively, as in members.
  std::int32_t wants_window = -1;
  StringId has_windows{};
  std::int64_t sequence = -1;  // number within the group; -1 = unknown
  StringId evidence{};         // "frame all_reduce (distributed_c10d.py:3170), group=None"

  bool operator==(const CollectiveCall&) const = default;
};

// Returns whether a Python frame inside of a function of torch.distributed runs before or after the
// communication library is called: code that is not torch's (a method that pickles an object, a
// signal handler, a finaliser), or torch's conversion of objects to tensors and back. The library
// may still be called from there.
constexpr bool runs_beside_call(std::string_view function, std::string_view file) {
  return file.find("torch/") == std::string_view::npos || function == "_object_to_tensor" ||
         function == "_tensor_to_object";
}

}  // namespace oddrank::snapshot
