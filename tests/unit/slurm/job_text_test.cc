#include "slurm/job_text.h"

#include "tests/support/catch.h"
#include "tests/unit/slurm/recorded.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("the outlook of a job is read from the output of both SLURM versions") {
  CHECK(outlook_words(parsed(recorded::kRunning)) ==
        "the job has run for 4 s, its time limit ends it in 29 min; if a node fails, SLURM "
        "restarts it "
        "from the beginning (Requeue=1)");
  const Job again = parsed(recorded::kRequeued2411);
  CHECK(again.requeue == true);
  CHECK(again.restarts == 1);
  CHECK(again.time_left_s == 1799);
  CHECK(outlook_words(again).ends_with("beginning (Requeue=1), as it has done once"));
  Job job;
  CHECK(outlook_words(job).empty());
  job.requeue = false;
  CHECK(outlook_words(job) == "if a node fails, it ends for good (Requeue=0)");
  job.restarts = 3;
  job.elapsed_s = 7380;
  job.time_left_s = 200000;
  CHECK(
      outlook_words(job) ==
      "the job has run for 2 h 3 min, its time limit ends it in 2 d 7 h; if a node fails, it ends "
      "for good (Requeue=0); it was restarted 3 times");
}

}  // namespace
}  // namespace oddrank::slurm
