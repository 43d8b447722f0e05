// Captures of generated jobs (tests/jobs/), with the truth about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "tests/golden/named_ranks.h"

namespace oddrank::tests {

struct RecordedJob {
  std::string name;   // "0017"
  std::string story;  // in words
  std::string bytes;  // of the capture
  Ranks nameable;     // ranks that a right answer may name
};

// Reads tests/golden/jobs.tar. Fails the test if it is no such archive.
const std::vector<RecordedJob>& recorded_jobs();

snapshot::Capture decode(const RecordedJob& job);

}  // namespace oddrank::tests
