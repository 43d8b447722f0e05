// What GPUs and network adapters report, in sentences: only what is odd.
#pragma once

#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

// Returns whether the GPU is busy all the time, moves hardly any memory, and draws less than two
// fifths of its power limit. A collective's kernel that waits for its peers spins like this; real
// work does not.
bool spins(const snapshot::Device& device);

// Returns one sentence for each kind of oddity: GPUs that spin, memory errors, ports that are down
// while others are up. Empty if nothing is odd.
std::vector<std::string> device_sentences(const JobView& view);

}  // namespace oddrank::aggregate
