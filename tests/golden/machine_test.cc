// Captures of the same job, made on each machine that is read: each gives the report that was
// reviewed, whatever machine reads it. They were made by scripts/vm (tests/vm/torch_job.py), in
// emulated machines.
#include <set>
#include <string>

#include "aggregate/diagnose.h"
#include "base/read_file.h"
#include "report/report_text.h"
#include "report/text_options.h"
#include "snapshot/format/capture_file.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/named_ranks.h"
#include "tests/support/catch.h"

namespace oddrank::tests {
namespace {

snapshot::Capture made_on(const std::string& machine) {
  const auto bytes = read_file(std::string(ODDRANK_MACHINE_CAPTURES) + "/" + machine + ".capture");
  REQUIRE(bytes);
  auto capture = snapshot::decode_capture(*bytes);
  REQUIRE(capture);
  return *std::move(capture);
}

}  // namespace

TEST_CASE("a capture gives the same report on a machine of another kind") {
  const std::string machine = GENERATE("aarch64", "x86_64");
  const snapshot::Capture capture = made_on(machine);
  const aggregate::Diagnosis report = aggregate::diagnose(capture);
  CHECK(named(report) == std::set<std::int32_t>{1});
  report::TextOptions all;
  all.all_threads = true;
  all.full_stacks = true;
  const std::string difference =
      compare_golden("machines/" + machine + ".txt", report::report_text(report, capture, all));
  INFO(difference);
  CHECK(difference.empty());
}

TEST_CASE("one job has one verdict on machines of both kinds") {
  const aggregate::Diagnosis arm = aggregate::diagnose(made_on("aarch64"));
  const aggregate::Diagnosis amd = aggregate::diagnose(made_on("x86_64"));
  CHECK(arm.verdict.kind == amd.verdict.kind);
  CHECK(arm.verdict.confidence == amd.verdict.confidence);
  CHECK(named(arm) == named(amd));
}

}  // namespace oddrank::tests
