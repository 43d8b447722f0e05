// Host names as users of SLURM write them: "n[0-3]", "node[01-04,07]", "gpu3,login".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::aggregate {

// Folds the last number of each name; leading zeros are kept.
std::string compress_hosts(std::vector<std::string> hosts);

// Fails with kBadData: unbalanced or nested brackets, a bad range, or more than `limit` hosts. A
// name may have one pair of brackets.
Result<std::vector<std::string>> expand_hosts(std::string_view text,
                                              std::size_t limit = std::size_t{1} << 16);

}  // namespace oddrank::aggregate
