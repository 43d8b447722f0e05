// SLURM's short form of lists of nodes: "n[0-3,7],login1". For what srun's messages say and for
// messages of ours; the nodes of a job come expanded from scontrol.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::slurm {

// {"n0", "n1", "n3"} -> "n[0-1,3]". Keeps the order of first appearance of the prefixes; leading
// zeros are kept ("n[08-10]").
std::string compress_hosts(const std::vector<std::string>& hosts);

// One pair of brackets a name, at most `limit` names; what is malformed stays as it stands.
std::vector<std::string> expand_hosts(std::string_view list, std::size_t limit = 65536);

}  // namespace oddrank::slurm
