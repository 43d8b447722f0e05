// What ranks did in each sample: which ones get a row of their own.
#include "aggregate/view/timeline.h"

#include "aggregate/diagnose.h"
#include "report/html/html_data.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"

namespace oddrank::aggregate {
namespace {

using tests::Json;
using tests::parse_json;

struct Row {
  std::vector<std::size_t> ranks;
  bool moved = false;
  std::string places;  // a letter for each sample
  std::string states;
  bool operator==(const Row&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Row& row) {
  stream << (row.moved ? "moved" : "still") << ' ' << row.places << ' ' << row.states << ':';
  for (const std::size_t rank : row.ranks) {
    stream << ' ' << rank;
  }
  return stream;
}

Timeline timeline_of(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  return build_timeline(view, find_groups(view));
}

std::vector<Row> rows_of(const Timeline& timeline) {
  std::vector<Row> rows;
  for (const TimelineRow& from : timeline.rows) {
    Row row{from.ranks, from.moved, "", ""};
    for (const TimelineSample& sample : from.samples) {
      row.places += static_cast<char>('a' + sample.place);
      row.states += sample.states + ' ';
    }
    rows.push_back(std::move(row));
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
  const Timeline timeline = timeline_of(job.capture);
  CHECK(timeline.samples == 2);
  CHECK(rows_of(timeline) == std::vector<Row>{{{0, 1, 4, 6, 7}, false, "aa", "S SR "},
                                              {{2, 3}, true, "ba", "S S "},
                                              {{5}, false, "bb", "S S "}});
  CHECK_FALSE(timeline.all_still());
  CHECK(timeline.places[0].words == "average_gradients (demo/train.py:88), in pthread_cond_wait");
}

TEST_CASE("timeline: a sample is not equal if the thread used the CPU or woke") {
  CHECK(timeline_of(tests::input_stall_job().capture).all_equal());
  auto ran = tests::input_stall_job();
  decider(ran, 2).samples.edit_back().cpu_us += 70;
  decider(ran, 3).samples.edit_back().cpu_us += 30;
  const Timeline timeline = timeline_of(ran.capture);
  CHECK(timeline.all_still());
  CHECK_FALSE(timeline.all_equal());
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.rows[0].steps.at(0).cpu_us.least == 0);
  CHECK(timeline.rows[0].steps.at(0).cpu_us.most == 70);
  auto woke = tests::input_stall_job();
  decider(woke, 5).samples.edit_back().voluntary_switches += 3;
  CHECK_FALSE(timeline_of(woke.capture).all_equal());
  CHECK(timeline_of(woke.capture).rows[1].steps.at(0).wakes.most == 3);
  // A counter that ran backwards belongs to another thread, and proves nothing.
  decider(woke, 5).samples.edit_back().voluntary_switches = 0;
  CHECK(timeline_of(woke.capture).all_equal());
}

TEST_CASE("timeline: a stop or a continue is a move, a stack that was not read is not") {
  auto job = tests::input_stall_job();
  decider(job, 2).samples.edit(0).state = 'T';
  decider(job, 3).samples.edit(0).stack = snapshot::StackId{};
  const auto rows = rows_of(timeline_of(job.capture));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].ranks == std::vector<std::size_t>{0, 1, 4, 6, 7});
  CHECK(rows[1].ranks == std::vector<std::size_t>{3});
  CHECK_FALSE(rows[1].moved);
  CHECK(rows[2].ranks == std::vector<std::size_t>{2});
  CHECK(rows[2].moved);
}

TEST_CASE("timeline: samples that ranks lack are the first; of many the last are shown") {
  auto job = tests::input_stall_job();
  auto& few = decider(job, 2).samples;
  few = {few.back()};
  const Timeline timeline = timeline_of(job.capture);
  CHECK(timeline.samples == 2);
  const auto rows = rows_of(timeline);
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].ranks == std::vector<std::size_t>{2});
  CHECK(rows[1].places.size() == 1);
  auto& many = decider(job, 5).samples;
  many = snapshot::SampleList(40, many.front());
  CHECK(timeline_of(job.capture).samples == 40);
  CHECK(timeline_of(job.capture).rows.back().samples.size() == Timeline::kMaxSamplesShown);
}

TEST_CASE("timeline: ranks that were not read are in no row") {
  auto job = tests::unread_node_job();
  std::size_t ranks = 0;
  for (const TimelineRow& row : timeline_of(job.capture).rows) {
    ranks += row.ranks.size();
  }
  CHECK(ranks == 6);
}

TEST_CASE("timeline: the page gets no rows if one line says it all") {
  auto job = tests::input_stall_job();
  const auto data = [&job] {
    return tests::parse_json(report::html_data(diagnose(job.capture), job.capture))["timeline"];
  };
  CHECK(data()["equal"] == true);
  CHECK(data()["rows"].empty());
  CHECK(data()["read"] == 8);
  decider(job, 2).samples.edit(0).stack = decider(job, 5).samples.edit(0).stack;
  CHECK(data()["moved"] == 1);
  REQUIRE(data()["rows"].size() == 3);
  CHECK(data()["rows"][0][0] == "5");  // the culprit's group is first
  CHECK(data()["rows"][2][3] == 1);
  CHECK(data()["places"].size() == 2);
  for (auto& process : job.capture.processes) {
    for (auto& thread : process.threads) {
      thread.samples = {thread.samples.back()};
    }
  }
  CHECK(data()["samples"] == 1);
  CHECK(data()["rows"].empty());
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
  const tests::Json timeline =
      tests::parse_json(report::html_data(diagnose(job.capture), job.capture))["timeline"];
  CHECK(timeline["moved"] == kManyRanks);
  CHECK(timeline["rows"].size() + timeline["left"].get<std::size_t>() == kManyRanks);
  CHECK(timeline.dump().size() < 30'000);
}

}  // namespace
}  // namespace oddrank::aggregate
