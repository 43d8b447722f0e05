#include "aggregate/evidence/named_rank.h"

#include <set>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using NamedRanks = std::set<std::size_t>;

TEST_CASE("a key or a file is named after a rank") {
  tests::CaptureBuilder job({"n0"}, 4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    job.rank(rank, "n0", 100 + rank);
  }
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  CHECK(named_ranks(view, "ready/2") == NamedRanks{2});
  CHECK(named_ranks(view, "step/3/ready/2") == NamedRanks{2, 3});
  CHECK(named_ranks(view, "plan-v2").empty());
  CHECK(named_ranks(view, "/scratch/run/flag-2.done") == NamedRanks{2});
  CHECK(named_ranks(view, "/scratch/run/rank2/prepared") == NamedRanks{2});
  // Numbers of jobs, runs and steps.
  CHECK(named_ranks(view, "/scratch/run/001/w/score-00006.json").empty());
  CHECK(named_ranks(view, "/scratch/3/done-2") == NamedRanks{2});
}

}  // namespace
}  // namespace oddrank::aggregate
