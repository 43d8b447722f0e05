// Every made-up job: its report as text and as JSON, byte by byte; and properties of all reports.
#include <algorithm>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "aggregate/diagnose.h"
#include "aggregate/rules/all_rules.h"
#include "base/printable.h"
#include "report/process_text.h"
#include "report/report_dot.h"
#include "report/report_json.h"
#include "report/report_profiles.h"
#include "report/report_text.h"
#include "report/text_options.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/mutations.h"
#include "tests/golden/named_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"
#include "tests/support/viewed.h"

namespace oddrank::tests {
namespace {

using aggregate::Diagnosis;
using Json = nlohmann::ordered_json;

std::string without_ranks(const std::string& text) {
  Json json = Json::parse(text);
  json.erase("ranks");
  return json.dump(2) + '\n';
}

void check_golden(const std::string& name, const std::string& actual) {
  const std::string difference = compare_golden(name, actual);
  INFO(difference);
  CHECK(difference.empty());
}

}  // namespace

TEST_CASE("reports of made-up jobs are as they were reviewed") {
  const HungJob job = GENERATE(from_range(hung_jobs()));
  const snapshot::Capture capture = job.build().take();
  const Diagnosis report = aggregate::diagnose(capture);
  const std::string name(job.name);
  check_golden(name + ".txt", report::report_text(report, capture, {}));
  check_golden(name + ".json", without_ranks(report::report_json(report, capture)));
}

TEST_CASE("the other forms of the main job's report are as they were reviewed") {
  const snapshot::Capture capture = input_stall_job().take();
  const Diagnosis report = aggregate::diagnose(capture);
  check_golden("main.sentence.txt", report::report_sentence(report));
  check_golden("main.folded", report::report_folded(tests::Viewed(capture)));
  check_golden("main.dot", report::report_dot(report, tests::Viewed(capture)));
  report::TextOptions all;
  all.all_threads = true;
  all.full_stacks = true;
  check_golden("main.full.txt", report::report_text(report, capture, all));
  report::TextOptions color;
  color.color = true;
  check_golden("main.color.txt", report::report_text(report, capture, color));
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  check_golden("process.txt", report::print_process(view, capture.processes[5], {}));
  Json json = Json::parse(report::report_json(report, capture));
  REQUIRE(json["ranks"].size() == 8);
  check_golden("rank.json", json["ranks"][5].dump(2) + '\n');
}

TEST_CASE("reports of a job of three dimensions are as they were reviewed") {
  const snapshot::Capture capture = mesh_job(three_dimensions(4, 4, 4)).take();
  const Diagnosis report = aggregate::diagnose(capture);
  check_golden("mesh.txt", report::report_text(report, capture, {}));
  const Json json = Json::parse(report::report_json(report, capture));
  check_golden("mesh.folded_groups.json", json["folded_groups"].dump(2) + '\n');
  check_golden("mesh.dot", report::report_dot(report, tests::Viewed(capture)));
  check_golden("mesh.folded", report::report_folded(tests::Viewed(capture)));
}

TEST_CASE("the report of a job of 1,024 ranks has about 40 lines") {
  const snapshot::Capture capture = mesh_job(three_dimensions(8, 16, 8)).take();
  const std::string text = report::report_text(aggregate::diagnose(capture), capture, {});
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 44);
}

TEST_CASE("the first screen of the main job has 80 columns and 24 lines") {
  const snapshot::Capture capture = input_stall_job().take();
  std::istringstream text(report::report_text(aggregate::diagnose(capture), capture, {}));
  std::string line;
  std::size_t lines = 0;
  bool others = false;
  for (; std::getline(text, line); ++lines) {
    INFO(line);
    CHECK(columns(line) <= 80);
    others = others || (lines < 24 && line.find("0-4,6-7") != std::string::npos);
  }
  CHECK(others);
  CHECK(lines <= 40);
}

TEST_CASE("the order of nodes and processes does not matter") {
  const HungJob job = GENERATE(from_range(hung_jobs()));
  INFO(job.name);
  const snapshot::Capture capture = job.build().take();
  const Diagnosis report = aggregate::diagnose(capture);
  const std::string text = report::report_text(report, capture, {});
  const std::string json = without_ranks(report::report_json(report, capture));
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const snapshot::Capture other = shuffled(capture, seed);
    const Diagnosis again = aggregate::diagnose(other);
    CHECK(report::report_text(again, other, {}) == text);
    CHECK(without_ranks(report::report_json(again, other)) == json);
  }
}

TEST_CASE("a node that is not read never makes an innocent rank guilty") {
  const HungJob job = GENERATE(from_range(hung_jobs()));
  const std::string_view host = GENERATE("n0", "n1", "n2", "n3");
  CaptureBuilder builder = job.build();
  const std::set<std::int32_t> guilty = named(aggregate::diagnose(builder.capture));
  builder.silence(host, "node did not answer in 20 s");
  const Diagnosis report = aggregate::diagnose(builder.capture);
  INFO(job.name << " without " << host << ": " << report.verdict.summary);
  CHECK(is_subset(named(report), guilty));
}

TEST_CASE("a rank that is gone never makes an innocent rank guilty") {
  const HungJob job = GENERATE(from_range(hung_jobs()));
  const std::int32_t rank = GENERATE(0, 1, 2, 3, 4, 5, 6, 7);
  CaptureBuilder builder = job.build();
  std::set<std::int32_t> guilty = named(aggregate::diagnose(builder.capture));
  guilty.insert(rank);  // it is guilty of not being there
  builder.remove(pid_of(rank));
  const Diagnosis report = aggregate::diagnose(builder.capture);
  INFO(job.name << " without rank " << rank << ": " << report.verdict.summary);
  CHECK(is_subset(named(report), guilty));
}

TEST_CASE("one sample is never healthy, and at most possible unless a state proves more") {
  const HungJob job = GENERATE(from_range(hung_jobs()));
  const snapshot::Capture capture = once(job.build().capture);
  const Diagnosis report = aggregate::diagnose(capture);
  INFO(job.name << ": " << report.verdict.summary);
  const aggregate::KindRow& row = row_of(report.verdict.kind);
  CHECK(row.progress != aggregate::Progress::kMoves);
  const bool sure = report.verdict.confidence > aggregate::Confidence::kPossible;
  CHECK((!sure || row.one_sample));
}

}  // namespace oddrank::tests
