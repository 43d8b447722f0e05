// The table of hangs: every kind of verdict with stories that must get it, and with near misses
// that must not (kind_test.cc checks how many); the report of each as it was reviewed.
#include "tests/golden/stories/story.h"

#include <set>

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/golden/golden_file.h"
#include "tests/support/catch.h"

namespace oddrank::tests {

using aggregate::Diagnosis;

namespace {

std::vector<std::int32_t> named_ranks(const Diagnosis& report) {
  std::vector<std::int32_t> ranks;
  for (const aggregate::Culprit& culprit : report.verdict.culprits) {
    ranks.push_back(culprit.rank);
  }
  return ranks;
}

}  // namespace

TEST_CASE("no two stories have one name") {
  std::set<std::string> paths;
  for (const Story& story : all_stories()) {
    INFO(story.path());
    CHECK(paths.insert(story.path()).second);
  }
}

TEST_CASE("stories get their verdict, with the report that was reviewed") {
  const Story story = GENERATE(from_range(all_stories()));
  const snapshot::Capture capture = story.build().take();
  const Diagnosis report = aggregate::diagnose(capture);
  INFO(story.path() << " (" << story.after << "): " << report::report_sentence(report));
  CHECK(aggregate::kind_name(report.verdict.kind) == aggregate::kind_name(story.kind));
  CHECK(named_ranks(report) == story.culprits);
  const std::string difference =
      compare_golden("stories/" + story.path() + ".txt", report::report_text(report, capture, {}));
  INFO(difference);
  CHECK(difference.empty());
}

}  // namespace oddrank::tests
