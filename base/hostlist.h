// Lists of hosts in the short form of SLURM: "n[0-3,7],login1".
//
// Both directions work like `scontrol show hostlistsorted` and `show hostnames` (22.05), except for
// names with text after their number ("n1.site"): scontrol neither folds them nor reads
// "n[1-2].site"; this code does both, like pdsh and ClusterShell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank {

// Sorts the hosts, drops those named twice, and folds the last number of each name: {"n0", "n3",
// "n1"} -> "n[0-1,3]". Leading zeros are kept: "n[08-10]" does not contain n8.
std::string compress_hosts(std::vector<std::string> hosts);

// Returns the hosts in the order of the list; commas and blanks separate them. A name may have
// several pairs of brackets: "r[0-1]n[0-3]" is eight hosts. Fails with kBadData: brackets that do
// not match, a bad range, a name of more than 255 bytes, or more than `limit` hosts.
Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t limit = 65536);

}  // namespace oddrank
