// What NCCL's bootstrap root says of the creation of a communicator: which ranks have come to it.
// Stacks show which ranks are inside of that call, which begins with much else (the driver, CUDA's
// context).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct HeardByRoot {
  std::vector<std::size_t> absent;  // indices of JobView::ranks(), sorted: they have not come
  bool is_all = false;              // all others have come
  std::string words;  // "NCCL's bootstrap root (rank 0) has heard of 6 of 8 ranks, not of 3,5"
};

// `members`: indices, in the order of the communicator's ranks; `inside`: those in the call,
// sorted. If the root does not know whether a member came, it counts as come if it is inside.
// nullopt: no root waits for these members, or several communicators of this size are being made.
std::optional<HeardByRoot> heard_by_root(const JobView& view,
                                         const std::vector<std::size_t>& members,
                                         const std::vector<std::size_t>& inside);

}  // namespace oddrank::aggregate
