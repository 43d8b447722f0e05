// Reads state and counters of InfiniBand and RoCE ports from the kernel's files.
#pragma once

#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns the ports, sorted by device and port; empty if there is no adapter. `root`:
// /sys/class/infiniband. May block if an adapter's firmware hangs.
std::vector<snapshot::LinkPort> read_link_ports(const std::string& root, snapshot::Tables& tables);

// Sets the later counters (errors_later, transferred_later) of the ports of the capture's first
// node.
void add_later_counts(const snapshot::Capture& later, snapshot::Capture& capture);

}  // namespace oddrank::collectives
