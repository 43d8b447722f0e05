// The ranks at the other ends of the pipes and connections that a rank waits for all at once, in
// select(), poll() or epoll_wait(): a server that serves the others, an event loop.
//
// One of them is to send something, or anybody else whom the call listens to. That such a rank is
// awaited by its own clients does not tell that it holds them up: it may itself wait for the one
// client that has not sent its part.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct PolledRanks {
  std::vector<std::size_t> ranks;  // indices of JobView::ranks(), ascending, each once
  bool all = true;  // false: the call also waits for files of which the other end is no rank's
  // Each of the ranks has sent something after this one last sent to it, as far as the kernel
  // tells: it is this one's turn.
  bool owes_all = true;
};

// Empty if the rank waits otherwise, or for one process, or also for one of its own.
PolledRanks polled_ranks(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
