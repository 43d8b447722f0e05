// The connections between ranks of a node, read before anything else: they tell which of several
// jobs work together.
#pragma once

#include "snapshot/jobs/linked_jobs.h"

namespace oddrank::waits {

// Reads the descriptors of the ranks and the kernel's tables of connections. What cannot be read
// does not count.
snapshot::JobSets linked_jobs_of_node(const snapshot::Capture& capture);

}  // namespace oddrank::waits
