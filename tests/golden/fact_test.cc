// Takes one fact from each story, or gives one rank the facts of another: the verdict may become
// weaker, never wrong. No innocent rank is named, a job that hangs does not become healthy, and a
// rank that is still named is named with a kind that the story allows.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "aggregate/rules/all_rules.h"
#include "tests/golden/mutations.h"
#include "tests/golden/named_ranks.h"
#include "tests/golden/stories/story.h"
#include "tests/support/catch.h"

namespace oddrank::tests {

using aggregate::Diagnosis;
using aggregate::Kind;
using snapshot::Capture;
using snapshot::ProcessCapture;

namespace {

// Returns whether the verdict is the story's, names no rank, or says of a rank no more than its
// place. Motion is observed, so it cannot come from missing data.
bool is_no_stronger(const Diagnosis& report, const Story& story) {
  if (report.verdict.kind == Kind::kMissingRank) {  // its culprits are ranks that are gone
    return is_subset(named(report), nameable(report, {}));
  }
  // That NCCL's bootstrap root has not heard of a rank is true, whatever is known of that rank.
  if (report.verdict.kind == Kind::kRendezvous &&
      report.verdict.summary.find("bootstrap root") != std::string::npos) {
    return true;
  }
  // Calls that may have other numbers are still a circle.
  if (report.verdict.kind == Kind::kResourceCycle && story.kind == Kind::kMismatchedCollective) {
    return true;
  }
  const aggregate::KindRow& row = row_of(report.verdict.kind);
  const bool names_nobody = !row.names_culprits && row.progress == aggregate::Progress::kStuck;
  return names_nobody || row.place_only || row.kind == story.kind ||
         report.verdict.confidence == aggregate::Confidence::kPossible;
}

// Returns an innocent rank of the largest group with frames; -1 if there is none.
std::int32_t innocent_of(const Story& story, const Diagnosis& report) {
  const aggregate::ReportedGroup* largest = nullptr;
  for (const auto& group : report.groups) {
    if (!group.culprit && !group.stack.frames.empty() &&
        (largest == nullptr || group.count > largest->count)) {
      largest = &group;
    }
  }
  if (largest == nullptr || largest->ranks.empty()) {
    return -1;
  }
  const auto guilty = [&story](std::int32_t rank) {
    return std::count(story.culprits.begin(), story.culprits.end(), rank) > 0;
  };
  return guilty(largest->ranks.front()) ? -1 : largest->ranks.front();
}

// Returns whether the place depends on the rank: it sends to a neighbour, or waits for this very
// rank.
bool is_about(Capture& capture, std::int32_t rank, std::int32_t other) {
  const ProcessCapture& process = *process_of(capture, rank);
  const pid_t pid = process_of(capture, other)->pid;
  return std::any_of(process.threads.begin(), process.threads.end(), [pid](const auto& thread) {
    return thread.wait.holder_pid == pid || (thread.call && thread.call->peer >= 0);
  });
}

// Returns two guilty ranks and two others: enough of a job in which the rest do the same.
std::vector<std::int32_t> ranks_to_try(const Story& story,
                                       const Diagnosis& report,
                                       std::int32_t world) {
  std::vector<std::int32_t> ranks(
      story.culprits.begin(),
      story.culprits.begin() +
          static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, story.culprits.size())));
  const std::int32_t beside = ranks.empty() ? 0 : (ranks.front() + 1) % world;
  for (const std::int32_t rank : {innocent_of(story, report), beside}) {
    if (rank >= 0 && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace

TEST_CASE("stories: a missing fact makes no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const Diagnosis whole = aggregate::diagnose(capture);
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  for (const std::int32_t rank : ranks_to_try(story, whole, capture.job.world_size)) {
    for (const Fact& fact : facts()) {
      Capture less = copy_of(capture);
      ProcessCapture* process = process_of(less, rank);
      if (process == nullptr) {
        continue;
      }
      fact.forget(*process);
      const Diagnosis report = aggregate::diagnose(less);
      INFO(story.path() << ", rank " << rank << " without " << fact.name << ": "
                        << aggregate::kind_name(report.verdict.kind) << ": "
                        << report.verdict.summary);
      CHECK(is_subset(named(report), nameable(report, guilty)));
      CHECK(is_no_stronger(report, story));
    }
  }
}

TEST_CASE("stories: a culprit at the place of the innocent is no longer named") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const std::int32_t innocent = innocent_of(story, aggregate::diagnose(capture));
  Ranks guilty(story.culprits.begin(), story.culprits.end());
  if (innocent < 0 || guilty.empty()) {
    return;
  }
  Capture other = copy_of(capture);
  const std::int32_t culprit = story.culprits.front();
  if (process_of(other, culprit) == nullptr || is_about(other, innocent, culprit)) {
    return;
  }
  stand_as(other, culprit, innocent);
  guilty.erase(culprit);
  const Diagnosis report = aggregate::diagnose(other);
  INFO(story.path() << ", rank " << culprit << " as rank " << innocent << ": "
                    << aggregate::kind_name(report.verdict.kind) << ": " << report.verdict.summary);
  // A circle may be behind the root; until now it was the root's consequence.
  CHECK((is_subset(named(report), nameable(report, guilty)) ||
         report.verdict.kind == aggregate::Kind::kResourceCycle ||
         report.verdict.kind == aggregate::Kind::kCollectiveOrder));
}

TEST_CASE("stories: an innocent rank at a culprit's place makes no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const std::int32_t innocent = innocent_of(story, aggregate::diagnose(capture));
  Ranks guilty(story.culprits.begin(), story.culprits.end());
  if (innocent < 0 || guilty.empty()) {
    return;
  }
  Capture other = copy_of(capture);
  if (process_of(other, story.culprits.front()) == nullptr) {
    return;
  }
  stand_as(other, innocent, story.culprits.front());
  guilty.insert(innocent);
  const Diagnosis report = aggregate::diagnose(other);
  INFO(story.path() << ", rank " << innocent << " as rank " << story.culprits.front() << ": "
                    << aggregate::kind_name(report.verdict.kind) << ": " << report.verdict.summary);
  // The additional rank may make both sides equal: then no side is named alone.
  const bool tie = report.verdict.confidence == aggregate::Confidence::kPossible &&
                   is_subset(guilty, named(report));
  CHECK((tie || is_subset(named(report), nameable(report, guilty))));
}

}  // namespace oddrank::tests
