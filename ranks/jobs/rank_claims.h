// Which of several processes with the number of one rank is the rank, and which of the others are
// ranks of runs of their own. Private to ranks/.
//
// Variables are inherited by all that a rank starts, and two runs of a sweep may have the same
// ones. So a number alone says nothing: a helper is told from a rank by who has started it, what
// program it runs, and what it says of itself.
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

  // Returns the one of these, which have one number in one job, that is the rank.
  std::size_t best_of(const std::vector<std::size_t>& of_rank) const;

  // Returns whether the candidate is a rank, of whatever run: it has a number that nobody else has,
  // it has a group, or it runs the program of the one that is the rank and was started as that was.
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
