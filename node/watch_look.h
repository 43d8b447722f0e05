// What the watch looks at ranks with: short looks, each rank's in a child of its own with a
// deadline, none of which stops a thread. See watch/rank_sign.h for what comes of it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/capture.h"
#include "watch/rank_sign.h"
#include "watch/watch.h"

namespace oddrank::node {

// One sign for each of `targets` (pid and rank are taken over). A rank that did not answer in time
// has `trouble`, and its state from outside. `logs`: files whose growth counts for all of them.
// Cheap for a rank that has not run since the look before: /proc alone. Precondition: one thread.
std::vector<watch::RankSign> look_at(const std::vector<watch::RankSign>& targets,
                                     const watch::SampleRequest& request,
                                     const std::vector<std::string>& logs);

// The ranks of this node; of one SLURM job with `slurm_job`. A capture without threads.
Result<snapshot::Capture> find_ranks(const std::string& slurm_job);

}  // namespace oddrank::node
