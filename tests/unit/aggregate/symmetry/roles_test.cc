#include "aggregate/symmetry/roles.h"

#include <map>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"

namespace oddrank::aggregate {
namespace {

std::map<Role, std::vector<std::size_t>> ranks_by_role(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const auto roles = roles_of(view, build_wait_graph(view), diagnose(view).verdict);
  std::map<Role, std::vector<std::size_t>> ranks;
  for (std::size_t at = 0; at < roles.size(); ++at) {
    ranks[roles[at]].push_back(at);
  }
  return ranks;
}

using RoleRanks = std::vector<std::size_t>;

}  // namespace

TEST_CASE("roles: the root, those that wait for it, and those that wait for these") {
  auto ranks = ranks_by_role(tests::mesh_job(tests::three_dimensions(2, 2, 2)).capture);
  CHECK(ranks[Role::kRoot] == RoleRanks{2});
  CHECK(ranks[Role::kDirect] == RoleRanks{0, 3, 6});
  CHECK(ranks[Role::kIndirect] == RoleRanks{1, 4, 5, 7});
  CHECK(ranks[Role::kElsewhere].empty());
}

TEST_CASE("roles: a rank without waits is elsewhere, and so are all if nobody is named") {
  auto job = tests::input_stall_job();
  tests::replace(job, 1, tests::training_on());
  CHECK(ranks_by_role(job.capture)[Role::kElsewhere].size() <= 1);
  CHECK(ranks_by_role(tests::below_host_job().capture)[Role::kElsewhere].size() == 8);
}

}  // namespace oddrank::aggregate
