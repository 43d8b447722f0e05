// A process group of torch.distributed, as one of its members sees it.
#pragma once

#include <cstdint>

#include "snapshot/ids.h"

namespace oddrank::snapshot {

struct ProcessGroup {
  // torch's own name: the same on all members, and unique in the job ("5", or a hash).
  StringId name{};
  StringId label{};    // the program's name for it: "tp"; empty = unknown
  StringId backend{};  // "gloo", "cpu:gloo,cuda:nccl"; empty = unknown
  bool is_default = false;
  // Global ranks in the order of their rank within the group (snapshot/rank_text.h). Empty for the
  // default group of all ranks, and if they could not be read.
  StringId members{};

  bool operator==(const ProcessGroup&) const = default;
};

}  // namespace oddrank::snapshot
