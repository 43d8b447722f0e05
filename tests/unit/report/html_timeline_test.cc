// What ranks did in each sample: which ones get a row of their own.
#include "report/html/html_timeline.h"

#include "aggregate/diagnose.h"
#include "report/html/html_data.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"
#include "tests/support/viewed.h"

namespace oddrank::report {
namespace {

tests::Json timeline_of(const snapshot::Capture& capture) {
  return tests::parse_json(
      html_data(aggregate::diagnose(capture), tests::Viewed(capture)))["timeline"];
}

// "2-3 moved: ba S S": ranks, then a letter for each sample's place, then the states.
std::vector<std::string> rows_of(const tests::Json& timeline) {
  std::vector<std::string> rows;
  for (const tests::Json& from : timeline["rows"]) {
    std::string places;
    std::string states;
    for (const tests::Json& sample : from[4]) {
      places += static_cast<char>('a' + sample[0].get<int>());
      states += ' ' + sample[1].get<std::string>();
    }
    rows.push_back(from[0].get<std::string>() + (from[3] == 1 ? " moved: " : " still: ") + places +
                   states);
  }
  return rows;
}

snapshot::ThreadCapture& decider(tests::CaptureBuilder& job, std::int32_t rank) {
  return job.process(tests::pid_of(rank)).threads.front();
}

TEST_CASE("timeline: ranks that did the same share a row, a rank that moved has its own") {
  auto job = tests::input_stall_job();
  decider(job, 2).samples.edit(0).stack = decider(job, 5).samples.edit(0).stack;
  decider(job, 3).samples.edit(0).stack = decider(job, 5).samples.edit(0).stack;
  decider(job, 6).samples.edit_back().state = 'R';  // a thread that spins is both in turn
  const tests::Json timeline = timeline_of(job.capture);
  CHECK(timeline["samples"] == 2);
  CHECK(timeline["read"] == 8);
  CHECK(timeline["moved"] == 2);
  CHECK(timeline["equal"] == false);
  CHECK(timeline["places"].size() == 2);
  // The culprit's group is first.
  CHECK(rows_of(timeline) == std::vector<std::string>{"5 still: aa S S", "0-1,4,6-7 still: bb S SR",
                                                      "2-3 moved: ab S S"});
  const tests::Json data =
      tests::parse_json(html_data(aggregate::diagnose(job.capture), tests::Viewed(job.capture)));
  CHECK(data["texts"][timeline["places"][1][1].get<std::size_t>()] ==
        "average_gradients (demo/train.py:88), in pthread_cond_wait");
}

TEST_CASE("timeline: a sample is not equal if the thread used the CPU or woke") {
  CHECK(timeline_of(tests::input_stall_job().capture)["equal"] == true);
  CHECK(timeline_of(tests::input_stall_job().capture)["rows"].empty());
  auto ran = tests::input_stall_job();
  decider(ran, 2).samples.edit_back().cpu_us += 70;
  decider(ran, 3).samples.edit_back().cpu_us += 30;
  const tests::Json timeline = timeline_of(ran.capture);
  CHECK(timeline["moved"] == 0);
  CHECK(timeline["equal"] == false);
  REQUIRE(timeline["rows"].size() == 2);
  CHECK(timeline["rows"][1][5][0] == tests::Json::array({0, 70, 0, 0}));
  auto woke = tests::input_stall_job();
  decider(woke, 5).samples.edit_back().voluntary_switches += 3;
  CHECK(timeline_of(woke.capture)["equal"] == false);
  CHECK(timeline_of(woke.capture)["rows"][0][5][0][3] == 3);
  // A counter that ran backwards belongs to another thread, and proves nothing.
  decider(woke, 5).samples.edit_back().voluntary_switches = 0;
  CHECK(timeline_of(woke.capture)["equal"] == true);
}

TEST_CASE("timeline: a stop or a continue is a move, a stack that was not read is not") {
  auto job = tests::input_stall_job();
  decider(job, 2).samples.edit(0).state = 'T';
  decider(job, 3).samples.edit(0).stack = snapshot::StackId{};
  const auto rows = rows_of(timeline_of(job.capture));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].starts_with("0-1,4,6-7 still"));
  CHECK(rows[2].starts_with("3 still"));
  CHECK(rows[3].starts_with("2 moved"));
}

TEST_CASE("timeline: samples that ranks lack are the first; of many the last are shown") {
  auto job = tests::input_stall_job();
  decider(job, 3).samples.edit_back().cpu_us += 30;
  auto& few = decider(job, 2).samples;
  few = {few.back()};
  const tests::Json timeline = timeline_of(job.capture);
  CHECK(timeline["samples"] == 2);
  const auto rows = rows_of(timeline);
  REQUIRE(rows.size() == 3);
  CHECK(rows[2] == "2 still: b S");
  auto& many = decider(job, 5).samples;
  many = snapshot::SampleList(40, many.front());
  CHECK(timeline_of(job.capture)["samples"] == 40);
  CHECK(timeline_of(job.capture)["rows"][0][4].size() == 12);
}

TEST_CASE("timeline: ranks that were not read are in no row") {
  CHECK(timeline_of(tests::unread_node_job().capture)["read"] == 6);
}

TEST_CASE("timeline: one sample shows no motion, and gets no rows") {
  auto job = tests::input_stall_job();
  for (auto& process : job.capture.processes) {
    for (auto& thread : process.threads) {
      thread.samples = {thread.samples.back()};
    }
  }
  CHECK(timeline_of(job.capture)["samples"] == 1);
  CHECK(timeline_of(job.capture)["rows"].empty());
}

TEST_CASE("timeline: if every rank does something different, the page gets a part") {
  constexpr std::int32_t kManyRanks = 1024;
  tests::CaptureBuilder job({"n0"}, kManyRanks);
  for (std::int32_t rank = 0; rank < kManyRanks; ++rank) {
    tests::ThreadSpec spec = tests::computing();
    spec.earlier = {tests::py("before_" + std::to_string(rank), "/home/u/demo/train.py", 5),
                    spec.frames.back()};
    job.thread(job.rank(rank, "n0", 1000 + rank), spec);
  }
  const tests::Json timeline = timeline_of(job.capture);
  CHECK(timeline["moved"] == kManyRanks);
  CHECK(timeline["rows"].size() + timeline["left"].get<std::size_t>() == kManyRanks);
  CHECK(timeline.dump().size() < 30'000);
}

}  // namespace
}  // namespace oddrank::report
