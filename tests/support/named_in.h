// The ranks that the diagnosis of a made-up job names, in the verdict's order.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/capture_builder.h"

namespace oddrank::tests {

inline std::vector<std::int32_t> named_in(const CaptureBuilder& job) {
  std::vector<std::int32_t> ranks;
  for (const aggregate::Culprit& one : aggregate::diagnose(job.capture).verdict.culprits) {
    ranks.push_back(one.rank);
  }
  return ranks;
}

}  // namespace oddrank::tests
