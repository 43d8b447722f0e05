// A job of which no rank was seen, for whatever reason: nobody waits, so nobody is missing.
#include "aggregate/diagnose.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

TEST_CASE("missing_rank: nobody is named if no rank was seen at all") {
  for (const bool listed : {false, true}) {
    tests::CaptureBuilder job({"n0", "n1"}, 4);
    if (listed) {  // by the launcher
      job.capture.nodes[0].expected_ranks = {0, 1};
      job.capture.nodes[1].expected_ranks = {2, 3};
    }
    const Diagnosis report = diagnose(job.capture);
    CHECK(report.verdict.kind == Kind::kUnknown);
    CHECK(report.verdict.culprits.empty());
    CHECK(report.coverage.read == 0);
    CHECK(report.coverage.expected == 4);
  }
}

}  // namespace
}  // namespace oddrank::aggregate
