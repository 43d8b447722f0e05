// The table of hangs: every kind of verdict, three different stories of it at least, and the near
// misses that must not give it; the report of each as it was reviewed.
#include "tests/golden/stories/story.h"

#include <algorithm>
#include <map>
#include <set>

#include "aggregate/diagnose.h"
#include "report/report_text.h"
#include "tests/golden/golden_file.h"
#include "tests/support/catch.h"

namespace oddrank::tests {

using aggregate::Diagnosis;
using aggregate::Kind;

namespace {

std::vector<std::int32_t> named(const Diagnosis& report) {
  std::vector<std::int32_t> ranks;
  for (const aggregate::Culprit& culprit : report.verdict.culprits) {
    ranks.push_back(culprit.rank);
  }
  return ranks;
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (auto kind = static_cast<unsigned>(Kind::kHealthy);
       kind <= static_cast<unsigned>(Kind::kUnknown); ++kind) {
    kinds.push_back(static_cast<Kind>(kind));
  }
  return kinds;
}

}  // namespace

TEST_CASE("every kind of verdict has three stories at least, and none has two of one name") {
  std::map<Kind, std::size_t> stories;
  std::set<std::string> paths;
  for (const Story& story : all_stories()) {
    stories[story.kind] += story.is_near_miss() ? 0 : 1;
    INFO(story.path());
    CHECK(paths.insert(story.path()).second);
  }
  for (const Kind kind : all_kinds()) {
    INFO(aggregate::kind_name(kind));
    CHECK(stories[kind] >= 3);
  }
}

TEST_CASE("stories give the verdict that is told of them, with the report that was reviewed") {
  const Story story = GENERATE(from_range(all_stories()));
  const snapshot::Capture capture = story.build().take();
  const Diagnosis report = aggregate::diagnose(capture);
  INFO(story.path() << " (" << story.after << "): " << report::report_sentence(report));
  CHECK(aggregate::kind_name(report.verdict.kind) == aggregate::kind_name(story.kind));
  CHECK(named(report) == story.culprits);
  const std::string difference =
      compare_golden("stories/" + story.path() + ".txt", report_text(report, capture, {}));
  INFO(difference);
  CHECK(difference.empty());
}

}  // namespace oddrank::tests
