#include "slurm/own_job.h"

#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("the only running job is meant") {
  CHECK(choose_own_job("4711|pretrain|n[0-3]\n").value() == "4711");
}

TEST_CASE("no job, or several, is an error that helps") {
  const auto none = choose_own_job("\n");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::kNotFound);
  const auto several = choose_own_job("4711|pretrain|n[0-3]\n4712|eval|n7\n");
  REQUIRE_FALSE(several);
  CHECK(several.error().code == Errc::kUsage);
  CHECK(several.error().hint.find("oddrank job 4712  eval  n7") != std::string::npos);
}

}  // namespace
}  // namespace oddrank::slurm
