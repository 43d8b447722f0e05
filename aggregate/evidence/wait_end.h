// Where a rank's wait ends within the rank: the main thread waits for a thread, a child, a worker
// of a pool, a pipe of a child's child; the last of them waits for something else. What that is,
// not what the rank's own thread waits in, tells why the rank holds the job up.
//
// The way never leaves the rank's own processes. A process of another rank is an edge of the wait
// graph; a process outside of the job (the holder of a file lock, the reader of a pipe) is what the
// end waits for. A wait for the input pipeline ends where it is seen: `input_stall` tells the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregate/evidence/holders.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

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

  // The rank itself, if its wait leads to no other thread or process; else a view of the process
  // and thread at the end, with the number and host of the rank.
  const RankView& view() const { return is_own() ? rank_ : end_; }
  bool is_own() const { return hops_.empty(); }
  // Returns whether frames show that one waits for the next, and nothing in memory or in the
  // kernel.
  bool is_guessed() const { return inferred_; }

  // Returns "waits for its child process pid 71 (cat /data/x), which "; "" if the rank itself is
  // the end.
  std::string way_words() const;

  // A wait for a thread of the same process (`from` is `process`), or for a child.
  struct Hop {
    const snapshot::ProcessCapture* process = nullptr;
    const snapshot::ThreadCapture* thread = nullptr;
    const snapshot::ProcessCapture* from = nullptr;
    const snapshot::ThreadCapture* waiter = nullptr;
    std::size_t alike = 0;  // further workers of the pool that stand in the same call
  };
  const std::vector<Hop>& hops() const { return hops_; }

  // Returns "thread 71 (feeder)" or "process pool worker".
  std::string hop_words(const Hop& hop) const;

 private:
  bool follow(const snapshot::ProcessCapture& process, const snapshot::ThreadCapture& thread);
  bool follow_threads(const Holders& holders,
                      const snapshot::ProcessCapture& process,
                      const snapshot::ThreadCapture& thread);
  // If several processes may be meant, and all of them stand in the same call, takes the first.
  bool follow_processes(const Holders& holders,
                        const snapshot::ProcessCapture& process,
                        const snapshot::ThreadCapture& thread);
  bool is_new(const snapshot::ProcessCapture& process) const;

  const JobView& view_;
  const RankView& rank_;
  std::vector<Hop> hops_;
  RankView end_;
  bool inferred_ = false;
};

}  // namespace oddrank::aggregate
