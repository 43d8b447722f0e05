// Chooses the processes of a tree that are ranks: the first half of rank_tree.h's rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ranks/jobs/job_split.h"
#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

struct RankChoice {
  // Indices into the tree, whose identities have their final `job` here.
  std::vector<std::size_t> ranks;
  // Processes with the variables of one of `ranks` that began earlier: left over from another run.
  std::vector<std::size_t> leftovers;
  // Ranks of another run at the same address (other_runs.h).
  std::vector<std::size_t> other_runs;
  // Orphans whose rank's own process is gone.
  std::vector<std::size_t> survivors;
  // Processes of a job that does not train (job_tiers.h).
  std::vector<std::size_t> side_jobs;
  // [index] -> the process below it that it wraps, or kNoProcess if it is not a wrapper.
  std::vector<std::size_t> wrapped;

  bool is_wrapper(std::size_t index) const { return wrapped[index] != kNoProcess; }
};

// Returns whether the process belongs to the SLURM job and step that the options name, if any.
bool matches(const ProcessFacts& facts, const DiscoverOptions& options);

// Returns whether the process names that job in its variables, but the job is another user's.
bool is_pretender(const ProcessFacts& facts, const DiscoverOptions& options);

// Chooses the ranks. Completes identities (job), and drops those that only say where a launcher
// runs.
RankChoice choose_ranks(ProcessTree& tree, const DiscoverOptions& options);

// Returns processes whose activity must be read before choose_ranks: read them and call this again
// with a new tree, until it returns none. Changes identities like choose_ranks.
std::vector<std::size_t> conducts_to_read(ProcessTree& tree, const DiscoverOptions& options);

}  // namespace oddrank::ranks
