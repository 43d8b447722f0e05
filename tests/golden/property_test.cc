// Properties of every story, whatever its verdict: names follow the evidence if ranks are
// renumbered, the order in which nodes answer decides nothing, and evidence that is missing may
// turn a name into `unknown`, but never into another name.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "aggregate/diagnose.h"
#include "aggregate/rules/all_rules.h"
#include "report/report_text.h"
#include "snapshot/alike_threads.h"
#include "snapshot/merge.h"
#include "tests/golden/evidence_check.h"
#include "tests/golden/mutations.h"
#include "tests/golden/named_ranks.h"
#include "tests/golden/stories/story.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::tests {

using aggregate::Diagnosis;
using snapshot::Capture;
using snapshot::ProcessCapture;

namespace {

std::string text_of(const Capture& capture) {
  return report::report_text(aggregate::diagnose(capture), capture, {});
}

Ranks ranks_on(const Capture& capture, std::uint32_t node) {
  Ranks ranks(capture.nodes[node].expected_ranks.begin(), capture.nodes[node].expected_ranks.end());
  for (const ProcessCapture& process : capture.processes) {
    if (process.node == node) {
      ranks.insert(process.rank);
    }
  }
  return ranks;
}

Ranks without(Ranks from, const Ranks& these) {
  std::erase_if(from, [&these](std::int32_t rank) { return these.contains(rank); });
  return from;
}

// Returns the ranks worth a try in a large job: guilty ones, their neighbours, and the ends.
Ranks some_ranks(const Story& story, std::int32_t world) {
  Ranks ranks = {0, 1, world / 2, world - 1};
  for (const std::int32_t guilty : story.culprits) {
    ranks.insert({guilty, (guilty + 1) % world, (guilty + world - 1) % world});
  }
  return ranks;
}

void silence(Capture& capture, std::uint32_t node) {
  capture.nodes[node].answered = false;
  capture.nodes[node].why = "node did not answer in 20 s";
  std::erase_if(capture.processes,
                [node](const ProcessCapture& process) { return process.node == node; });
}

}  // namespace

TEST_CASE("stories: the wait-for graph shows all that a verdict says") {
  for (const Story& story : all_stories()) {
    const CaptureBuilder job = story.build();
    aggregate::FrameModel model(job.capture.tables);
    const aggregate::JobView view(job.capture, model);
    const Diagnosis diagnosis = aggregate::diagnose(view);
    INFO(story.name << ": " << diagnosis.verdict.summary);
    CHECK(unproven(view, diagnosis.verdict) == std::vector<std::string>());
  }
}

TEST_CASE("stories: the order of nodes and processes does not matter") {
  const Story story = GENERATE(from_range(all_stories()));
  INFO(story.path());
  const Capture capture = story.build().take();
  const std::string text = text_of(capture);
  for (unsigned seed = 1; seed <= 2; ++seed) {
    CHECK(text_of(shuffled(capture, seed)) == text);
  }
}

TEST_CASE("stories: threads that others stand for change nothing") {
  const Story story = GENERATE(from_range(all_stories()));
  INFO(story.path());
  Capture capture = story.build().take();
  for (ProcessCapture& process : capture.processes) {
    const auto few = process.threads;
    for (std::size_t at = 1; at < few.size() * 4; ++at) {
      process.threads.push_back(few[at % few.size()]);
      process.threads.back().tid += 1'000'000 * static_cast<pid_t>(1 + at / few.size());
    }
  }
  const std::string text = text_of(capture);
  snapshot::drop_alike_threads(capture);
  CHECK(text_of(capture) == text);
}

TEST_CASE("stories: captures of nodes in any order, even twice, are the same job") {
  const Story story = GENERATE(from_range(all_stories()));
  INFO(story.path());
  const Capture capture = story.build().take();
  std::vector<Capture> parts = parts_of(capture);
  std::vector<std::size_t> order(2 * parts.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    order[at] = at % parts.size();
  }
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  Capture whole;
  snapshot::Merger merger(whole);
  for (const std::size_t part : order) {
    merger.add(parts[part]);
  }
  CHECK(text_of(whole) == text_of(capture));
}

TEST_CASE("stories: ranks with other numbers are named by their other numbers") {
  const Story story = GENERATE(from_range(all_stories()));
  const unsigned seed = GENERATE(1U, 2U);
  const Capture capture = story.build().take();
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(capture.job.world_size));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  Ranks expected;
  for (const std::int32_t rank : story.culprits) {
    expected.insert(numbers[static_cast<std::size_t>(rank)]);
  }
  const Diagnosis before = aggregate::diagnose(capture);
  const Diagnosis report = aggregate::diagnose(renumbered(capture, numbers));
  INFO(story.path() << ": " << report.verdict.summary);
  CHECK(report.verdict.kind == story.kind);
  CHECK(report.verdict.confidence == before.verdict.confidence);
  CHECK(named(report) == expected);
}

TEST_CASE("stories: a culprit that swaps with an innocent rank is named in its new place") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const auto world = static_cast<std::size_t>(capture.job.world_size);
  if (story.culprits.empty() || story.culprits.size() == world) {
    return;
  }
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  for (const std::int32_t innocent : some_ranks(story, capture.job.world_size)) {
    if (guilty.contains(innocent)) {
      continue;
    }
    std::vector<std::int32_t> numbers(world);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto first = static_cast<std::size_t>(story.culprits.front());
    std::swap(numbers[first], numbers[static_cast<std::size_t>(innocent)]);
    Ranks expected = guilty;
    expected.erase(story.culprits.front());
    expected.insert(innocent);
    const Diagnosis report = aggregate::diagnose(renumbered(capture, numbers));
    INFO(story.path() << " with rank " << innocent << ": " << report.verdict.summary);
    CHECK(named(report) == expected);
  }
}

TEST_CASE("stories: a node that is not read makes no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  for (std::uint32_t node = 0; node < capture.nodes.size(); ++node) {
    const Ranks hidden = ranks_on(capture, node);
    Capture less = copy_of(capture);
    silence(less, node);
    const Diagnosis report = aggregate::diagnose(less);
    INFO(story.path() << " without " << capture.nodes[node].host << ": " << report.verdict.summary);
    CHECK(is_subset(named(report), nameable(report, without(guilty, hidden))));
  }
}

TEST_CASE("stories: two nodes that are not read make no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  for (std::uint32_t one = 0; one < capture.nodes.size(); ++one) {
    for (std::uint32_t other = one + 1; other < capture.nodes.size(); ++other) {
      Capture less = copy_of(capture);
      silence(less, one);
      silence(less, other);
      const Diagnosis report = aggregate::diagnose(less);
      INFO(story.path() << " without nodes " << one << ", " << other << ": "
                        << report.verdict.summary);
      CHECK(is_subset(named(report), nameable(report, guilty)));
    }
  }
}

TEST_CASE("stories: a rank that could not be read is not named, and makes no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  for (const std::int32_t rank : some_ranks(story, capture.job.world_size)) {
    Capture less = copy_of(capture);
    ProcessCapture* process = process_of(less, rank);
    if (process == nullptr) {
      continue;
    }
    unread(*process);
    const Diagnosis report = aggregate::diagnose(less);
    INFO(story.path() << ", rank " << rank << " unread: " << report.verdict.summary);
    CHECK(is_subset(named(report), nameable(report, without(guilty, {rank}))));
  }
}

TEST_CASE("stories: a rank that is gone is guilty of that, and makes no other rank guilty") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  for (const std::int32_t rank : some_ranks(story, capture.job.world_size)) {
    Ranks guilty(story.culprits.begin(), story.culprits.end());
    guilty.insert(rank);
    Capture less = copy_of(capture);
    std::erase_if(less.processes,
                  [rank](const ProcessCapture& process) { return process.rank == rank; });
    const Diagnosis report = aggregate::diagnose(less);
    INFO(story.path() << " without rank " << rank << ": " << report.verdict.summary);
    CHECK(is_subset(named(report), nameable(report, guilty)));
  }
}

// None of this is evidence against any rank.
TEST_CASE("stories: idle threads, and the time at which a rank was read, change nothing") {
  const Story story = GENERATE(from_range(all_stories()));
  CaptureBuilder job = story.build();
  const Diagnosis before = aggregate::diagnose(job.capture);
  job.capture.processes.front().read_us += 3'000'000;
  for (ProcessCapture& process : job.capture.processes) {
    if (process.is_rank && !process.threads.empty() &&
        process.threads.back().name != process.threads.front().name) {
      ThreadSpec idle;
      idle.frames = {native("do_spin", "/usr/lib/libgomp.so.1"),
                     native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
      idle.has_python = false;
      job.thread(process, idle);
    }
  }
  const Diagnosis after = aggregate::diagnose(job.capture);
  INFO(story.path() << ": " << after.verdict.summary);
  CHECK(after.verdict.kind == before.verdict.kind);
  CHECK(after.verdict.confidence == before.verdict.confidence);
  CHECK(named(after) == named(before));
}

TEST_CASE("stories: one sample makes no other rank guilty, and is never healthy") {
  const Story story = GENERATE(from_range(all_stories()));
  const Capture capture = story.build().take();
  const Ranks guilty(story.culprits.begin(), story.culprits.end());
  const Diagnosis report = aggregate::diagnose(once(capture));
  INFO(story.path() << ": " << report.verdict.summary);
  CHECK(row_of(report.verdict.kind).progress != aggregate::Progress::kMoves);
  // One sample of a job that moves may show a rank that is late just then: possible, never more.
  const bool moves = row_of(story.kind).progress == aggregate::Progress::kMoves;
  CHECK((is_subset(named(report), nameable(report, guilty)) ||
         (moves && report.verdict.confidence == aggregate::Confidence::kPossible)));
}

}  // namespace oddrank::tests
