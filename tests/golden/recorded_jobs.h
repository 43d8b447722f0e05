// Captures of generated jobs (tests/jobs/), and of jobs that hung on a GPU (tests/gpu/), with the
// truth about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "tests/golden/named_ranks.h"

namespace oddrank::tests {

struct RecordedJob {
  std::string name;   // "0017", "late_loader"
  std::string story;  // in words
  std::string bytes;  // of the capture
  Ranks nameable;     // ranks that a right answer may name
};

// Reads tests/golden/jobs.tar and gpu_jobs.tar. Fails the test if they are no such archives.
const std::vector<RecordedJob>& recorded_jobs();

snapshot::Capture decode(const RecordedJob& job);

}  // namespace oddrank::tests
