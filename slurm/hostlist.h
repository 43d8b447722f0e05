// SLURM's short form of lists of nodes: "n[0-3,7],login1". For what srun's messages say and for
// messages of ours; the nodes of a job come expanded from scontrol.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::slurm {

// Returns "n[0-1,3]" for {"n0", "n1", "n3"}. Keeps the order of first appearance of the prefixes;
// leading zeros are kept ("n[08-10]").
std::string compress_hosts(const std::vector<std::string>& hosts);

// Expands one pair of brackets in each name, to at most `limit` names. Malformed text stays as it
// is.
std::vector<std::string> expand_hosts(std::string_view list, std::size_t limit = 65536);

}  // namespace oddrank::slurm
