// Two captures of one job: which ranks moved, and which did not.
#include "aggregate/view/compare.h"

#include <stdexcept>

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using Ranks = std::vector<std::int32_t>;

constexpr std::uint64_t kApartUs = 724'000'000;

void age(snapshot::Capture& capture, std::uint64_t by_us, std::uint64_t cpu_us = 0) {
  for (auto& process : capture.processes) {
    process.read_us += by_us;
    for (auto& thread : process.threads) {
      for (auto& sample : thread.samples.stored()) {
        sample.cpu_us += cpu_us;
      }
    }
  }
}

const ChangedRanks& row_of(const Comparison& comparison, Change change) {
  for (const ChangedRanks& row : comparison.changes) {
    if (row.change == change) {
      return row;
    }
  }
  FAIL("no such change");
  throw std::logic_error("unreachable");
}

TEST_CASE("compare: a hung job stands still, although its polling threads used some CPU") {
  const auto before = tests::skipped_collective_job();
  auto after = tests::skipped_collective_job();
  age(after.capture, kApartUs, 20'000);
  const Comparison found = compare_captures(before.capture, after.capture);
  CHECK(found.apart_us == kApartUs);
  REQUIRE(found.changes.size() == 1);
  CHECK(found.changes[0].change == Change::kStill);
  CHECK(found.changes[0].ranks == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("compare: a rank that ran at the same place did not stand still") {
  const auto before = tests::skipped_collective_job();
  auto after = tests::skipped_collective_job();
  age(after.capture, kApartUs, 30'000'000);
  const Comparison found = compare_captures(before.capture, after.capture);
  REQUIRE(found.changes.size() == 1);
  CHECK(found.changes[0].change == Change::kRan);
}

TEST_CASE("compare: ranks that are elsewhere, gone, new, or another process") {
  auto before = tests::skipped_collective_job();
  auto after = tests::skipped_collective_job();
  age(after.capture, kApartUs);
  tests::replace(after, 3, tests::in_all_reduce());
  after.remove(tests::pid_of(5));
  after.process(tests::pid_of(6)).start_us += 7;
  before.remove(tests::pid_of(7));
  const Comparison found = compare_captures(before.capture, after.capture);
  CHECK(row_of(found, Change::kStill).ranks == Ranks{0, 1, 2, 4});
  CHECK(row_of(found, Change::kElsewhere).ranks == Ranks{3});
  CHECK(row_of(found, Change::kElsewhere).words.find("all_reduce") != std::string::npos);
  CHECK(row_of(found, Change::kRestarted).ranks == Ranks{6});
}

TEST_CASE("compare: a counter that went on shows another round at the same place") {
  const auto with_step = [](const char* value) {
    auto job = tests::loop_skew_job();
    for (auto& process : job.capture.processes) {
      auto& decider = process.threads.front();
      decider.locals.clear();
      decider.locals.push_back(
          {0, {{job.capture.tables.string("step"), job.capture.tables.string(value)}}});
    }
    return job;
  };
  const auto before = with_step("1206");
  auto after = with_step("1207");
  age(after.capture, kApartUs);
  const Comparison found = compare_captures(before.capture, after.capture);
  REQUIRE(found.changes.size() == 1);
  CHECK(found.changes[0].change == Change::kRound);
  CHECK(found.changes[0].words.find("step=1206 -> 1207") != std::string::npos);
}

TEST_CASE("compare: a rank that was not read is unknown, never still") {
  const auto before = tests::skipped_collective_job();
  auto after = tests::unread_node_job();
  age(after.capture, kApartUs);
  const Comparison found = compare_captures(before.capture, after.capture);
  CHECK(row_of(found, Change::kUnknown).ranks == Ranks{4, 5});
}

TEST_CASE("compare: the report says it") {
  const auto before = tests::skipped_collective_job();
  auto after = tests::skipped_collective_job();
  age(after.capture, kApartUs);
  Diagnosis report = diagnose(after.capture);
  report.since = compare_captures(before.capture, after.capture);
  const std::string text = report::report_text(report, after.capture, {});
  CHECK(text.find("Since the capture 12 min before:") != std::string::npos);
  CHECK(text.find("ranks 0-7: stood still") != std::string::npos);
}

}  // namespace
}  // namespace oddrank::aggregate
