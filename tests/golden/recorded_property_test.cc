// Properties of every recorded job, whatever its verdict: names of user code and numbers of ranks
// decide nothing, and a rank that is missing from the capture never moves the blame to another one.
// (Whether the verdicts are right is tested by job_score_test.py.)
#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "aggregate/diagnose.h"
#include "aggregate/evidence/wait_graph.h"
#include "report/report_text.h"
#include "snapshot/alike_threads.h"
#include "tests/golden/evidence_check.h"
#include "tests/golden/mutations.h"
#include "tests/golden/recorded_jobs.h"
#include "tests/support/catch.h"

namespace oddrank::tests {

using aggregate::Diagnosis;
using snapshot::Capture;
using snapshot::ProcessCapture;

namespace {

// Returns the culprits that a job without this rank may have: no rank in its place, but the rank
// itself.
Ranks still_nameable(const RecordedJob& job, const Diagnosis& before, std::int32_t gone) {
  Ranks ranks = job.nameable;
  const Ranks first = named(before);
  ranks.insert(first.begin(), first.end());
  ranks.insert({gone, -1});  // -1: a process of the job with an unknown number, mostly a dead one
  return ranks;
}

void check_without(const RecordedJob& job, bool keep_row) {
  const Capture capture = decode(job);
  const Diagnosis before = aggregate::diagnose(capture);
  for (std::int32_t rank = 0; rank < capture.job.world_size; ++rank) {
    Capture less = copy_of(capture);
    if (!keep_row) {
      std::erase_if(less.processes,
                    [rank](const ProcessCapture& process) { return process.rank == rank; });
    } else if (ProcessCapture* process = process_of(less, rank)) {
      unread(*process);
    }
    const Diagnosis after = aggregate::diagnose(less);
    INFO(job.name << " (" << job.story << ") without rank " << rank << ": " << after.verdict.summary
                  << "; before: " << before.verdict.summary);
    CHECK(is_subset(named(after), still_nameable(job, before, rank)));
  }
}

}  // namespace

TEST_CASE("recorded jobs: a rank that was not read makes no other rank guilty") {
  for (const RecordedJob& job : recorded_jobs()) {
    check_without(job, true);
  }
}

TEST_CASE("recorded jobs: a rank that is gone makes no other rank guilty") {
  for (const RecordedJob& job : recorded_jobs()) {
    check_without(job, false);
  }
}

TEST_CASE("recorded jobs: ranks with other numbers are named by their other numbers") {
  for (const RecordedJob& job : recorded_jobs()) {
    const Capture capture = decode(job);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(capture.job.world_size));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
    const Diagnosis before = aggregate::diagnose(capture);
    const Diagnosis after = aggregate::diagnose(renumbered(capture, numbers));
    Ranks expected;
    for (const std::int32_t rank : named(before)) {
      expected.insert(rank < 0 ? rank : numbers[static_cast<std::size_t>(rank)]);
    }
    INFO(job.name << " (" << job.story << "): " << after.verdict.summary
                  << "; before: " << before.verdict.summary);
    CHECK(after.verdict.kind == before.verdict.kind);
    CHECK(named(after) == expected);
  }
}

TEST_CASE("recorded jobs: other names of functions and files of user code change nothing") {
  for (const RecordedJob& job : recorded_jobs()) {
    const Capture capture = decode(job);
    const Diagnosis before = aggregate::diagnose(capture);
    const Diagnosis after = aggregate::diagnose(renamed_user_code(capture));
    INFO(job.name << " (" << job.story << "): " << after.verdict.summary
                  << "; before: " << before.verdict.summary);
    CHECK(after.verdict.kind == before.verdict.kind);
    CHECK(after.verdict.confidence == before.verdict.confidence);
    CHECK(named(after) == named(before));
  }
}

TEST_CASE("recorded jobs: threads that others stand for change nothing") {
  std::size_t dropped = 0;
  for (const RecordedJob& job : recorded_jobs()) {
    const Capture capture = decode(job);
    Capture less = copy_of(capture);
    snapshot::drop_alike_threads(less);
    for (const ProcessCapture& process : less.processes) {
      dropped += process.threads_left_out;
    }
    INFO(job.name << " (" << job.story << ")");
    CHECK(report::report_text(aggregate::diagnose(less), less, {}) ==
          report::report_text(aggregate::diagnose(capture), capture, {}));
  }
  CHECK(dropped > 0);
}

TEST_CASE("recorded jobs: the wait-for graph shows all that a verdict says") {
  for (const RecordedJob& job : recorded_jobs()) {
    const Capture capture = decode(job);
    aggregate::FrameModel model(capture.tables);
    const aggregate::JobView view(capture, model);
    const Diagnosis diagnosis = aggregate::diagnose(view);
    INFO(job.name << " (" << job.story << "): " << diagnosis.verdict.summary);
    CHECK(unproven(view, diagnosis.verdict) == std::vector<std::string>());
  }
}

TEST_CASE("recorded jobs: of a step that stands still, the late rank is named and nobody else") {
  std::size_t waited = 0;
  for (const RecordedJob& job : recorded_jobs()) {
    const Capture healthy = decode(job);
    if (aggregate::diagnose(healthy).verdict.kind != aggregate::Kind::kHealthy) {
      continue;
    }
    for (std::int32_t late = 0; late < healthy.job.world_size; ++late) {
      Capture capture = copy_of(healthy);
      stand_still(capture);
      make_late(capture, late);
      // Ranks that are between two calls are late, too; so is one that ends.
      Ranks outside = {late};
      aggregate::FrameModel model(capture.tables);
      const aggregate::JobView view(capture, model);
      for (const aggregate::RankView& rank : view.ranks()) {
        if (rank.decider == nullptr || !rank.decider->call) {
          outside.insert(rank.rank);
        }
      }
      const Diagnosis after = aggregate::diagnose(view);
      INFO(job.name << " (" << job.story << ") with rank " << late
                    << " late: " << after.verdict.summary);
      CHECK(is_subset(named(after), outside));
      if (outside.size() == 1 && aggregate::build_wait_graph(view).awaited[view.index_of(late)]) {
        CHECK(named(after) == outside);
        ++waited;
      }
    }
  }
  CHECK(waited > 0);  // most moments have several ranks outside, or calls of unknown members
}

}  // namespace oddrank::tests
