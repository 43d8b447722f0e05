// The same job, seen or numbered otherwise: what must change nothing but names, or nothing at all.
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::tests {

snapshot::Capture copy_of(const snapshot::Capture& from);

// Nodes and processes in another order, as they may come back from the nodes.
snapshot::Capture shuffled(const snapshot::Capture& from, unsigned seed);

// Rank r is numbers[r], wherever a rank is named.
snapshot::Capture renumbered(const snapshot::Capture& from,
                             const std::vector<std::int32_t>& numbers);

// Each node's part by itself, as an agent sends it.
std::vector<snapshot::Capture> parts_of(const snapshot::Capture& whole);

// As if it had been sampled once.
snapshot::Capture once(const snapshot::Capture& from);

}  // namespace oddrank::tests
