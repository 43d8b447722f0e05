// Differences in the report of a job if only core files are left.
#include <algorithm>

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::report {

TEST_CASE("with cores, the coverage counts no nodes and no advice needs a live process") {
  tests::CaptureBuilder job = tests::input_stall_job();
  const aggregate::Diagnosis live = aggregate::diagnose(job.capture);
  CHECK(report_text(live, job.capture, {}).find("8/8 ranks on 4/4 nodes") != std::string::npos);
  job.capture.job.source = snapshot::JobSource::kCore;
  const aggregate::Diagnosis report = aggregate::diagnose(job.capture);
  CHECK(report.verdict.kind == live.verdict.kind);
  CHECK(report.verdict.summary == live.verdict.summary);
  CHECK(report_text(report, job.capture, {}).find("8/8 ranks from core files") !=
        std::string::npos);
  REQUIRE_FALSE(report.verdict.advice.empty());
  CHECK(report.verdict.advice.size() < live.verdict.advice.size());
  CHECK(report.verdict.advice.front().words().find("on its node: timeout 5 stat") == 0);
  for (const std::string& advice : aggregate::advice_words(report.verdict.advice)) {
    CHECK(advice.find("oddrank node") == std::string::npos);
  }
}

}  // namespace oddrank::report
