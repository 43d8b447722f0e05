// Where a rank's wait ends within the rank: the main thread waits for a thread, a child, a worker
// of a pool, a pipe of a child's child, and the last of these waits for something else. That last
// wait, not the main thread's, tells why the rank holds the job up.
//
// The way never leaves the rank's own processes. A process of another rank is an edge of the wait
// graph; a process outside of the job (the holder of a file lock, the reader of a pipe) is what the
// end waits for. A wait for the input pipeline is not followed: `input_stall` tells the rest.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/evidence/holders.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"
#include "base/small/boxed.h"

namespace oddrank::aggregate {

// Returns a view of a process and thread with the number and host of the rank.
RankView view_of(const JobView& view,
                 const RankView& rank,
                 const snapshot::ProcessCapture& process,
                 const snapshot::ThreadCapture& thread);

class WaitEnd {
 public:
  // Borrows both, and the capture of the view.
  WaitEnd(const JobView& view, const RankView& rank);

  // Returns the rank itself if its wait leads to no other thread or process; else a view of the
  // process and thread at the end, with the number and host of the rank.
  const RankView& view() const { return is_own() ? rank_ : *end_; }
  bool is_own() const { return way_.size() < 2; }
  // Returns whether a hop is known by frames alone, and by nothing in memory or in the kernel.
  bool is_guessed() const;

  // Returns "waits for its child process pid 71 (cat /data/x), which "; "" if the rank itself is
  // the end.
  std::string way_words() const;

  // What the previous hop waits for: a thread of its process, or another process.
  struct Hop {
    const snapshot::ProcessCapture* process = nullptr;
    const snapshot::ThreadCapture* thread = nullptr;
    bool within = false;    // in the same process as the hop before
    bool guessed = false;   // by frames alone
    std::size_t alike = 0;  // further workers of the pool that stand in the same call

    bool operator==(const Hop& other) const { return thread == other.thread; }
  };
  std::span<const Hop> hops() const { return std::span(way_).subspan(is_own() ? way_.size() : 1); }

  // Returns "thread 71 (feeder)" or "process pool worker".
  std::string hop_words(const Hop& hop) const;

 private:
  // Return what the hop waits for; no thread if it is the end.
  Hop next(const Hop& at) const;
  Hop next_thread(const Hop& at, const Holders& holders) const;
  // If several processes may be meant, and all of them stand in the same call, takes the first.
  Hop next_process(const Holders& holders) const;

  const JobView& view_;
  const RankView& rank_;
  std::vector<Hop> way_;  // the rank itself, then the hops; empty: it is not followed
  Boxed<RankView> end_;   // if it is not the rank itself: a large job has an end for each rank
};

}  // namespace oddrank::aggregate
