// The HTML report: its data is whole, and nothing from a target becomes markup.
#include "aggregate/diagnose.h"
#include "aggregate/symmetry/fold_groups.h"
#include "report/html/html_data.h"
#include "report/html/report_html.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"
#include "tests/support/mesh_job.h"
#include "tests/support/viewed.h"

namespace oddrank::report {
namespace {

using tests::Json;
using tests::parse_json;

Json data_of(const snapshot::Capture& capture) {
  return parse_json(html_data(aggregate::diagnose(capture), tests::Viewed(capture)));
}

std::size_t count_of_text(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("html: every rank is there, with its group, its processes and their threads") {
  const auto job = tests::input_stall_job();
  const Json data = data_of(job.capture);
  CHECK(data["verdict"]["kind"] == "input_stall");
  CHECK(data["verdict"]["culprits"] == parse_json(R"([[5, "n2", 3005]])"));
  REQUIRE(data["ranks"].size() == 8);
  REQUIRE(data["groups"].size() == 2);
  CHECK(data["groups"][0]["ranks"] == "5");
  for (const Json& rank : data["ranks"]) {
    CHECK(rank[4] == (rank[0] == 5 ? 0 : 1));
  }
  CHECK(data["processes"].size() == 9);  // and the worker
  for (const Json& process : data["processes"]) {
    CHECK_FALSE(process[7].empty());
  }
  // Entries that rows refer to by number exist.
  for (const Json& stack : data["stacks"]) {
    for (const Json& code : stack) {
      const Json& frame = data["frames"].at(code.get<std::size_t>() / 2);
      CHECK(frame[0] < data["texts"].size());
      CHECK(frame[1] < data["texts"].size());
    }
  }
}

TEST_CASE("html: the colour of the kind accuses only if a rank is named") {
  CHECK(data_of(tests::input_stall_job().capture)["verdict"]["tone"] == "");
  CHECK(data_of(tests::healthy_job().capture)["verdict"]["tone"] == "fine");
  CHECK(data_of(tests::below_host_job().capture)["verdict"]["tone"] == "open");
  CHECK(data_of(tests::unknown_job().capture)["verdict"]["tone"] == "open");
}

TEST_CASE("html: the coverage has the words of the text report") {
  for (const auto& job : {tests::unread_node_job(), tests::missing_rank_job()}) {
    const aggregate::Diagnosis report = aggregate::diagnose(job.capture);
    const Json coverage = parse_json(html_data(report, tests::Viewed(job.capture)))["coverage"];
    TextOptions wide;
    wide.width = 200;
    const std::string text = report_text(report, job.capture, wide);
    CHECK(text.find(coverage["words"].get<std::string>()) != std::string::npos);
    REQUIRE(coverage["unread"].size() == 1);
    const std::string label = coverage["unread"][0][0];
    CHECK(text.find("\n" + label + ": ") != std::string::npos);
  }
}

TEST_CASE("html: the picture leads from the waiting ranks to the culprit") {
  const auto job = tests::input_stall_job();
  const Json picture = data_of(job.capture)["picture"];
  const auto leads = [&picture](std::size_t from, std::size_t to) {
    for (const Json& edge : picture["edges"]) {
      if (edge[0] == from && edge[1] == to) {
        return true;
      }
    }
    return false;
  };
  // 5; 0-4,6-7; all_reduce; worker; file.
  REQUIRE(picture["nodes"].size() == 5);
  CHECK(leads(1, 2));
  CHECK(leads(2, 0));
  CHECK(leads(0, 3));
  CHECK(leads(3, 4));
}

TEST_CASE("html: the data has the job's layout and the role of each rank") {
  const auto job = tests::mesh_job(tests::three_dimensions(2, 3, 4));
  const Json data = data_of(job.capture);
  CHECK(data["axes"]["names"] == Json::array({"dp", "pp", "tp"}));
  CHECK(data["axes"]["sizes"] == Json::array({2, 3, 4}));
  REQUIRE(data["axes"]["order"].size() == 24);
  CHECK(data["axes"]["order"][17] == 17);
  CHECK(data["ranks"][8][11] == static_cast<unsigned>(aggregate::Role::kRoot));
  CHECK(data["ranks"][9][11] == static_cast<unsigned>(aggregate::Role::kDirect));
  CHECK(data["ranks"][0][11] == static_cast<unsigned>(aggregate::Role::kIndirect));
  CHECK(data_of(tests::input_stall_job().capture)["axes"]["names"].empty());
}

TEST_CASE("html: the tree's rows are in the order of display") {
  const auto job = tests::late_loader_job();
  const Json data = data_of(job.capture);
  std::vector<std::string> counters;
  for (const Json& row : data["tree"]) {
    CHECK(row[1] < static_cast<std::int64_t>(&row - &data["tree"][0]));
    const std::string counter = data["texts"][row[4].get<std::size_t>()];
    if (!counter.empty()) {
      counters.push_back(counter + (row[5] == 1 ? "!" : ""));
    }
  }
  CHECK(counters == std::vector<std::string>{"step=1206!", "step=1207"});
}

TEST_CASE("html: a process's own name is text, never markup") {
  auto job = tests::skipped_collective_job();
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>";
  auto spec = tests::sleeping();
  spec.frames = {tests::py(evil, "/x/" + evil + ".py", 1), tests::py("<!--data-->", "/x/a.py", 2)};
  spec.python_name = evil;
  tests::replace(job, 3, spec);
  job.process(tests::pid_of(3)).command = job.capture.tables.string(evil);
  job.capture.job.name = evil;
  const std::string page =
      report_html(aggregate::diagnose(job.capture), tests::Viewed(job.capture));
  CHECK(count_of_text(page, "<script") == 2);
  CHECK(count_of_text(page, "</script") == 2);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("alert(1)") != std::string::npos);
  CHECK(page.find("src=x") != std::string::npos);
  CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
  CHECK(page.find("https://") == std::string::npos);
}

TEST_CASE("html: every made-up job gives a page whose data can be read") {
  for (const auto& named : tests::hung_jobs()) {
    DYNAMIC_SECTION(named.name) {
      const auto job = named.build();
      const Json data = data_of(job.capture);
      CHECK_FALSE(data["verdict"]["summary"].get<std::string>().empty());
      CHECK(data["ranks"].size() == 8);
    }
  }
}

TEST_CASE("html: a thousand ranks with a hundred threads are less than two megabytes") {
  constexpr std::int32_t kRanks = 1024;
  const bool moves = GENERATE(false, true);
  tests::CaptureBuilder job({"n0"}, kRanks);
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    auto& process = job.rank(rank, "n0", 1000 * (rank + 1));
    tests::ThreadSpec main = rank == 7 ? tests::sleeping() : tests::in_all_reduce();
    if (moves) {  // each has come from elsewhere
      main.earlier = main.frames;
      main.earlier[0] = tests::py("from_" + std::to_string(rank), "/home/u/demo/train.py", 5);
      main.cpu_step_us = 100'000 + static_cast<std::uint64_t>(rank);
    }
    job.thread(process, main);
    for (int thread = 1; thread < 99; ++thread) {
      tests::ThreadSpec spec;
      spec.has_python = false;
      // Seven places, one of them of a pool.
      spec.frames = {tests::native("wait_" + std::to_string(thread % 7), "/usr/lib/libwork.so")};
      if (thread % 7 == 0) {
        spec.frames = {tests::native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
      }
      job.thread(process, spec);
    }
  }
  CHECK(report_html(aggregate::diagnose(job.capture), tests::Viewed(job.capture)).size() <
        2'000'000);
}

}  // namespace
}  // namespace oddrank::report
