#include "aggregate/view/coordinates.h"

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

void add_group(tests::CaptureBuilder& job,
               std::int32_t rank,
               std::string_view name,
               std::string_view label,
               std::string_view members) {
  auto& tables = job.capture.tables;
  snapshot::ProcessGroup group;
  group.name = tables.string(name);
  group.label = tables.string(label);
  group.members = tables.string(members);
  job.process(tests::pid_of(rank)).groups.push_back(group);
}

std::string words_of(const tests::CaptureBuilder& job, std::int32_t rank) {
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return coordinate_words(coordinates_of(view, view.ranks()[view.index_of(rank)]));
}

TEST_CASE("coordinates: the place in each group that has a name, tp first") {
  auto job = tests::input_stall_job();
  add_group(job, 5, "9", "dp", "1,5");
  add_group(job, 5, "7", "tp", "4-5");
  add_group(job, 5, "8", "expert", "5,1");
  add_group(job, 5, "2", "", "0-7");
  CHECK(words_of(job, 5) == "tp1 dp1 expert0");
  CHECK(words_of(job, 4).empty());
  const std::string text = report::report_text(diagnose(job.capture), job.capture, {});
  CHECK(text.find("1 rank: 5 (n2, tp1 dp1 expert0)") != std::string::npos);
}

TEST_CASE("coordinates: of many names, tp and pp are not those that are cut") {
  auto job = tests::input_stall_job();
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}) {
    add_group(job, 5, std::string(1, name), std::string(1, name), "5-6");
  }
  add_group(job, 5, "7", "tp", "4-5");
  add_group(job, 5, "9", "pp", "1,5");
  CHECK(words_of(job, 5) == "tp1 pp1 a0 b0 c0 d0 e0 f0");
}

TEST_CASE("coordinates: a group that fixes no place is left out") {
  auto job = tests::input_stall_job();
  add_group(job, 5, "1", "tp", "0-3");  // it is no member
  add_group(job, 5, "2", "pp", "1,5");  // two places
  add_group(job, 5, "3", "pp", "5,1");
  add_group(job, 5, "4", "dp", "no ranks at all");
  add_group(job, 5, "5", "dim2", "5-6");
  add_group(job, 5, "6", "ep", "5");  // of one rank
  CHECK(words_of(job, 5) == "dim2:0");
}

}  // namespace
}  // namespace oddrank::aggregate
