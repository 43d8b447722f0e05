// Reads state and counters of InfiniBand and RoCE ports from the kernel's files.
#pragma once

#include <string>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns the ports, sorted by device and port; empty if there is no adapter. `root`:
// /sys/class/infiniband. May block if an adapter's firmware hangs.
std::vector<snapshot::LinkPort> read_link_ports(const std::string& root, snapshot::Tables& tables);

}  // namespace oddrank::collectives
