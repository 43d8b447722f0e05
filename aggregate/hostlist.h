// Host names as SLURM's users write them: "n[0-3]", "node[01-04,07]", "gpu3,login".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::aggregate {

// The last number of a name is what is folded; leading zeros are kept.
std::string compress_hosts(std::vector<std::string> hosts);

// kBadData: unbalanced or nested brackets, a bad range, or more than `limit` hosts. One pair of
// brackets a name.
Result<std::vector<std::string>> expand_hosts(std::string_view text,
                                              std::size_t limit = std::size_t{1} << 16);

}  // namespace oddrank::aggregate
