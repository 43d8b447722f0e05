#include "aggregate/view/quiet_span.h"

#include <initializer_list>
#include <string>

#include "aggregate/diagnose.h"
#include "report/process_text.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"

using oddrank::aggregate::QuietSpan;

namespace {

std::string words(std::initializer_list<std::int64_t> quiet_ms) {
  QuietSpan span;
  for (const std::int64_t ms : quiet_ms) {
    oddrank::snapshot::ThreadCapture thread;
    thread.wait.quiet_ms = ms;
    span.add(thread);
  }
  return span.words();
}

}  // namespace

TEST_CASE("quiet times read as a person would say them") {
  CHECK(words({2'460'000}) == "for 41 min");
  CHECK(words({1'000}) == "for 1 s");
  CHECK(words({9'960}) == "for 9.9 s");
  CHECK(words({95'400}) == "for 95 s");
  CHECK(words({120'000}) == "for 2 min");
  CHECK(words({7'199'999}) == "for 119 min");
  CHECK(words({12'000'000}) == "for 3 h 20 min");
}

TEST_CASE("threads that went quiet together share one time") {
  CHECK(words({2'460'000, 2'500'000, 2'470'000}) == "for 41 min");
  CHECK(words({2'460'000, 2'399'000}) == "for 39 min to 41 min");
}

TEST_CASE("one unknown or too short time makes the group's time unknown") {
  CHECK(words({}).empty());
  CHECK(words({-1}).empty());
  CHECK(words({2'460'000, -1}).empty());
  CHECK(words({2'460'000, 999}).empty());
}

TEST_CASE("reports say for how long the ranks of a group have not run") {
  oddrank::tests::CaptureBuilder job = oddrank::tests::input_stall_job();
  std::int64_t quiet_ms = 2'400'000;
  for (auto& process : job.capture.processes) {
    for (auto& thread : process.threads) {
      thread.wait.quiet_ms = quiet_ms += 1'000;
    }
  }
  const auto report = oddrank::aggregate::diagnose(job.capture);
  const std::string text = oddrank::report::report_text(report, job.capture, {});
  CHECK(text.find("all_reduce in default group, for 40 min\n") != std::string::npos);
  const auto json = oddrank::tests::parse_json(oddrank::report::report_json(report, job.capture));
  CHECK(json["groups"][1]["quiet_s"]["least"] >= 2401.0);
  CHECK(json["ranks"][0]["threads"][0]["quiet_s"] == 2401.0);
  const auto& first = job.capture.processes.front();
  oddrank::aggregate::FrameModel model(job.capture.tables);
  const oddrank::aggregate::JobView view(job.capture, model);
  CHECK(oddrank::report::print_process(view, first, {}).find("(sleeping for 40 min") !=
        std::string::npos);
}
