// The doctor's checks of what can be known of a job's calls: the counts of its process groups, and
// PyTorch's flight recorder, both from the ranks' memory. Advises to set a variable only if memory
// does not suffice.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "snapshot/node_health.h"

namespace oddrank::node {

// Returns "numbers" and "recorder". `capture`: with the ranks' process groups; the recorders are
// read into it.
std::vector<snapshot::Check> check_calls(snapshot::Capture& capture,
                                         std::chrono::milliseconds timeout);

// What decides whether a PyTorch that has recorded nothing yet will record. `version`: 213 for
// 2.13, 0 if unknown; `nccl`: a group uses NCCL; `variable`: the recorder's variable and its value,
// "" if none is set.
struct RecorderOutlook {
  int version = 0;
  bool nccl = false;
  std::string variable;
  std::string value;
};
// Returns the check "recorder" for such a PyTorch.
snapshot::Check recorder_outlook(const RecorderOutlook& outlook);

}  // namespace oddrank::node
