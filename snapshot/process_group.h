// A process group of torch.distributed, as one of its members knows it.
#pragma once

#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

struct ProcessGroup {
  // torch's own name: the same on all members, and nobody else's in the job ("5", or a hash).
  StringId name{};
  StringId label{};    // what the program calls it: "tp"; empty = unknown
  StringId backend{};  // "gloo", "cpu:gloo,cuda:nccl"; empty = unknown
  bool is_default = false;
  // Global ranks in the order of their rank within the group (snapshot/rank_text.h). Empty for the
  // default group, which all ranks are in, and where they could not be read.
  StringId members{};

  bool operator==(const ProcessGroup&) const = default;
};

}  // namespace oddrank::snapshot
