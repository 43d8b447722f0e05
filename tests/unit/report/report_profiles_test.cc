// The forms of the tree for other programs: they follow their readers' rules, and agree.

#include "report/report_profiles.h"

#include <regex>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"
#include "tests/support/viewed.h"

namespace oddrank::report {
namespace {

using tests::Json;
using tests::parse_json;

// Checks against https://www.speedscope.app/file-format-schema.json: no key that is not in the
// schema, each value of its type, and all required keys.
void check_frame(const Json& frame) {
  REQUIRE(frame["name"].is_string());
  for (const auto& [key, value] : frame.items()) {
    INFO(key);
    CHECK(((key == "name" && value.is_string()) || (key == "file" && value.is_string()) ||
           (key == "line" && value.is_number_integer()) ||
           (key == "col" && value.is_number_integer())));
  }
}

void check_sampled_profile(const Json& profile, std::size_t frames) {
  CHECK(profile["type"] == "sampled");
  CHECK(profile["name"].is_string());
  CHECK(profile["unit"] == "none");
  CHECK(profile.size() == 7);
  REQUIRE(profile["samples"].size() == profile["weights"].size());
  double sum = profile["startValue"].get<double>();
  for (const Json& weight : profile["weights"]) {
    sum += weight.get<double>();
  }
  CHECK(profile["endValue"] == sum);
  for (const Json& sample : profile["samples"]) {
    REQUIRE_FALSE(sample.empty());
    for (const Json& frame : sample) {
      CHECK(frame.get<std::size_t>() < frames);
    }
  }
}

TEST_CASE("speedscope: the file follows its format") {
  const tests::HungJob job = GENERATE(from_range(tests::hung_jobs()));
  INFO(job.name);
  const Json json = parse_json(report_speedscope(tests::Viewed(job.build().capture)));
  CHECK(json["$schema"] == "https://www.speedscope.app/file-format-schema.json");
  CHECK(json["exporter"].is_string());
  CHECK(json["name"].is_string());
  CHECK(json["activeProfileIndex"] == 0);
  REQUIRE_FALSE(json["profiles"].empty());
  for (const Json& frame : json["shared"]["frames"]) {
    check_frame(frame);
  }
  for (const Json& profile : json["profiles"]) {
    check_sampled_profile(profile, json["shared"]["frames"].size());
  }
}

TEST_CASE("speedscope: weights count ranks, outermost frame first") {
  const Json json = parse_json(report_speedscope(tests::Viewed(tests::input_stall_job().capture)));
  const Json& profile = json["profiles"][0];
  CHECK(json["name"] == "job 4711");
  CHECK(profile["name"] == "all ranks");
  CHECK(profile["endValue"] == 8);
  CHECK(profile["weights"] == Json({7, 1}));
  REQUIRE(json["profiles"].size() == 3);
  CHECK(json["profiles"][1]["name"] == "ranks 0-4,6-7");
  CHECK(json["profiles"][1]["weights"] == Json({7}));
  CHECK(json["profiles"][2]["name"] == "rank 5");
  const Json& frames = json["shared"]["frames"];
  const Json& first = profile["samples"][0];
  CHECK(frames[first.front().get<std::size_t>()]["name"] == "<module>");
  CHECK(frames[first.front().get<std::size_t>()]["line"] == 131);
  CHECK(frames[first.back().get<std::size_t>()]["name"] == "pthread_cond_wait");
}

// flamegraph.pl takes "frame;frame;... COUNT", and stops at other lines.
TEST_CASE("folded: lines as flamegraph.pl reads them, with all ranks in them") {
  const tests::HungJob job = GENERATE(from_range(tests::hung_jobs()));
  INFO(job.name);
  const auto built = job.build();
  std::istringstream text(report_folded(tests::Viewed(built.capture)));
  const std::regex shape("^([^;]+;)*[^;]+ [1-9][0-9]*$");
  std::size_t sum = 0;
  for (std::string line; std::getline(text, line);) {
    INFO(line);
    CHECK(std::regex_match(line, shape));
    sum += std::stoul(line.substr(line.rfind(' ') + 1));
  }
  const Json profile = parse_json(report_speedscope(tests::Viewed(built.capture)))["profiles"][0];
  CHECK(profile["endValue"] == sum);
}

}  // namespace
}  // namespace oddrank::report
