// What is known of ranks without a process: whether they were there, and how they ended.
#pragma once

#include <cstdint>
#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

class RankPast {
 public:
  // Looks through all ranks once. Borrows the view.
  explicit RankPast(const JobView& view);

  // Returns whether a rank without a process had come: another rank has a default group that
  // connects all members when it is made, as Gloo's does (docs/collectives.md; not with
  // TORCH_GLOO_LAZY_INIT). A group of NCCL alone shows nothing: it exists before the others have
  // come.
  bool was_there(const RankView& rank) const;

  // Returns "has ended: exit code 0, says SLURM", from the daemon of the rank's step; "" if it says
  // nothing: it remembers only while another task of the node runs.
  std::string ended_by_step(const RankView& rank) const;

  // Returns "has ended: "Exited with exit code 3", says srun", from the job's output; "" if that
  // says nothing. Only for display: the output may be from another attempt, so it decides no kind.
  // The tasks of the step must be the ranks, and it must be the first step of a job that was not
  // requeued.
  std::string ended_by_srun(const RankView& rank) const;

 private:
  // Returns whether this rank shows that a task's number is its rank.
  bool shows_that_tasks_are_ranks(const RankView& rank) const;

  const JobView& view_;
  std::int32_t came_ = 0;  // number of ranks that had come
  bool tasks_are_ranks_ = false;
};

}  // namespace oddrank::aggregate
