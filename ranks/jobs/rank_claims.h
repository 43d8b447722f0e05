// Decides which of several processes with the number of one rank is the rank, and which of the
// others are ranks of other runs. Private to ranks/.
//
// All processes that a rank starts inherit its variables, and two runs of a sweep may have the same
// variables. So a number alone is not enough: a rank differs from a helper by its parent, its
// program, and its memory (self_reports.h).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ranks/jobs/job_split.h"
#include "ranks/process_tree.h"

namespace oddrank::ranks {

class RankClaims {
 public:
  // The tree must outlive it. `candidates`: indices of the processes that may be ranks, with the
  // final names of their jobs.
  RankClaims(const ProcessTree& tree, const std::vector<std::size_t>& candidates);

  // Returns the rank among these processes, which all have one number in one job.
  std::size_t best_of(const std::vector<std::size_t>& of_rank) const;

  // Returns whether the candidate is a rank of any run: no other process has its number, or it has
  // a group, or it runs the same program as the rank and was started in the same way.
  bool is_rank(std::size_t candidate) const { return ranks_.contains(candidate); }

 private:
  // Returns how many other ranks of its job run the program of the candidate.
  std::size_t siblings_of(std::size_t candidate) const;

  const ProcessTree& tree_;
  std::set<std::size_t> ranks_;
  // job and program -> the numbers of the candidates
  std::map<std::pair<std::string, std::string>, std::set<std::int32_t>> programs_;
};

}  // namespace oddrank::ranks
