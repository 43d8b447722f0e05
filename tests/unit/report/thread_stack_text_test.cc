// Threads at the same place, shown once.
#include "report/thread_stack_text.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::report {
namespace {

using Tids = std::vector<std::int32_t>;

// Returns main thread 10; 11 and 13 of a pool; 12 and 14 at the main thread's place.
tests::CaptureBuilder five_threads() {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec pool;
  pool.has_python = false;
  pool.frames = {tests::native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
  for (const bool idle : {false, true, false, true, false}) {
    job.thread(process, idle ? pool : tests::sleeping());
  }
  return job;
}

TEST_CASE("thread classes: the main thread alone, equal threads together, pools last") {
  const auto job = five_threads();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const auto classes = classify_threads(view, job.capture.processes[0], false);
  REQUIRE(classes.size() == 3);
  CHECK(classes[0].tids() == Tids{10});
  CHECK(classes[1].tids() == Tids{12, 14});
  CHECK(classes[1].pool.empty());
  CHECK(classes[2].tids() == Tids{11, 13});
  CHECK(classes[2].pool == "in gomp_thread_start (OpenMP pool)");
}

TEST_CASE("thread classes: each alone if all threads are wanted") {
  const auto job = five_threads();
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const auto classes = classify_threads(view, job.capture.processes[0], true);
  REQUIRE(classes.size() == 5);
  CHECK(classes[1].tids() == Tids{11});
  CHECK(classes[1].pool.empty());
}

TEST_CASE("thread classes: a thread that runs is not idle") {
  auto job = five_threads();
  job.capture.processes[0].threads[1].samples.edit_back().state = 'R';
  aggregate::FrameModel model(job.capture.tables);
  const aggregate::JobView view(job.capture, model);
  const auto classes = classify_threads(view, job.capture.processes[0], false);
  REQUIRE(classes.size() == 4);
  CHECK(classes[1].tids() == Tids{11});
  CHECK(classes[1].pool.empty());
}

}  // namespace
}  // namespace oddrank::report
