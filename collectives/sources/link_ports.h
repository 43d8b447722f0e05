// State and counters of InfiniBand and RoCE ports, from the kernel's files.
#pragma once

#include <string>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// `root`: /sys/class/infiniband. Empty where there is no adapter. A file may block where an
// adapter's firmware hangs. By device and port.
std::vector<snapshot::LinkPort> read_link_ports(const std::string& root, snapshot::Tables& tables);

}  // namespace oddrank::collectives
