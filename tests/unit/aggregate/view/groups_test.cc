#include "aggregate/view/groups.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

namespace {

std::vector<std::vector<std::size_t>> ranks_of(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  std::vector<std::vector<std::size_t>> ranks;
  for (const RankGroup& group : find_groups(view)) {
    ranks.push_back(group.ranks);
  }
  return ranks;
}

using RankSets = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("ranks at the same place are one group, the largest first") {
  CHECK(ranks_of(tests::input_stall_job().capture) == RankSets{{0, 1, 2, 3, 4, 6, 7}, {5}});
}

TEST_CASE("a rank that is stopped at the same place is a group of its own") {
  CHECK(ranks_of(tests::stopped_rank_job().capture) == RankSets{{0, 1, 3, 4, 5, 6, 7}, {2}});
}

TEST_CASE("ranks that wait by spinning are grouped with ranks that sleep") {
  auto job = tests::eight_ranks(tests::in_all_reduce());
  tests::ThreadSpec spins = tests::in_all_reduce();
  spins.state = 'R';
  tests::replace(job, 4, spins);
  CHECK(ranks_of(job.capture).size() == 1);
}

TEST_CASE("another sequence number is another group") {
  auto job = tests::below_host_job();
  job.process(tests::pid_of(3)).threads[0].call->sequence = 1206;
  CHECK(ranks_of(job.capture) == RankSets{{0, 1, 2, 4, 5, 6, 7}, {3}});
}

TEST_CASE("ranks without any facts are in no group") {
  CHECK(ranks_of(tests::missing_rank_job().capture) == RankSets{{0, 1, 2, 3, 4, 5, 6}});
  CHECK(ranks_of(tests::unread_node_job().capture) == RankSets{{0, 1, 2, 3, 6, 7}});
}

}  // namespace oddrank::aggregate
