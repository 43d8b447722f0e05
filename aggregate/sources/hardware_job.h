// What GPUs and network adapters say, in sentences: what is odd, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_state.h"

namespace oddrank::aggregate {

// Busy all the time, hardly any memory moved, and less than two fifths of the power that it may
// take: a kernel of a collective that waits for its peers spins like this. No work looks so.
bool spins(const snapshot::Device& device);

// One sentence a kind of oddity: GPUs that spin, memory errors; ports that are down while others
// are up. Empty if nothing is odd.
std::vector<std::string> device_sentences(const JobView& view);

}  // namespace oddrank::aggregate
