// The watch's samples of ranks: short, each in a child with a deadline, without stopping a thread.
// See watch/rank_sign.h for their contents.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/capture.h"
#include "watch/rank_sign.h"
#include "watch/watch.h"

namespace oddrank::node {

// Returns a sign for each of `targets` (with its pid and rank). A rank whose sample did not end in
// time has `trouble`, and its state as /proc shows it. `logs`: files whose growth counts for all of
// them. For a rank that has not run since the last sample, reads only /proc. Precondition: one
// thread (it forks).
std::vector<watch::RankSign> sample_ranks(const std::vector<watch::RankSign>& targets,
                                          const watch::SampleRequest& request,
                                          const std::vector<std::string>& logs);

// Returns the ranks of this node, or only those of one SLURM job that train, as a capture without
// threads.
Result<snapshot::Capture> find_ranks(const std::string& slurm_job);

}  // namespace oddrank::node
