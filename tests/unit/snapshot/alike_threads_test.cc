// Threads that others of their process stand for.
#include "snapshot/alike_threads.h"

#include <string>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

constexpr std::size_t kPoolThreads = 6;

tests::ThreadSpec pool_thread() {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("do_spin", "/usr/lib/libgomp.so.1")};
  spec.wait.syscall = "futex";
  spec.has_python = false;
  spec.python_name = "";
  return spec;
}

// A rank with a main thread and a pool; no two threads have the same numbers.
tests::CaptureBuilder rank_with_pool(const tests::ThreadSpec& of_pool = pool_thread()) {
  tests::CaptureBuilder job({"n0"}, 1);
  ProcessCapture& process = job.rank(0, "n0", 100);
  job.thread(process, {});
  for (std::size_t i = 0; i < kPoolThreads; ++i) {
    ThreadCapture& thread = job.thread(process, of_pool);
    thread.wait.address = 0x1000 + 64 * i;
    thread.wait.quiet_ms = static_cast<std::int64_t>(kOldWaitMs + 10 * i);
    for (ThreadSample& sample : thread.samples.stored()) {
      sample.cpu_us = 100 * i;
      sample.voluntary_switches = i;
    }
  }
  return job;
}

std::vector<pid_t> tids_left(Capture& capture) {
  drop_alike_threads(capture);
  std::vector<pid_t> tids;
  for (const ThreadCapture& thread : capture.processes.front().threads) {
    tids.push_back(thread.tid);
  }
  CHECK(count_threads(capture) == 1 + kPoolThreads);
  CHECK(capture.processes.front().threads_left_out == 1 + kPoolThreads - tids.size());
  return tids;
}

}  // namespace

TEST_CASE("alike threads: the first two of a pool stay, as they were read") {
  tests::CaptureBuilder job = rank_with_pool();
  const std::vector<ThreadCapture> all = job.capture.processes.front().threads;
  CHECK(tids_left(job.capture) == std::vector<pid_t>{100, 101, 102});
  CHECK(std::equal(all.begin(), all.begin() + 3, job.capture.processes[0].threads.begin()));
  CHECK(tids_left(job.capture).size() == 3);  // a second time changes nothing
}

TEST_CASE("alike threads: a thread that another row names stays") {
  tests::CaptureBuilder job = rank_with_pool();
  ProcessCapture& process = job.capture.processes.front();
  process.threads[0].wait.holder_tid = 104;
  process.threads[1].wait.lock.owner_tid = 105;
  process.crash.edit().tid = 106;
  CHECK(tids_left(job.capture) == std::vector<pid_t>{100, 101, 102, 103, 104, 105, 106});
}

TEST_CASE("alike threads: a thread that differs in more than its numbers stays") {
  tests::CaptureBuilder job = rank_with_pool();
  auto& threads = job.capture.processes.front().threads;
  SECTION("it moved") {
    threads[5].samples.edit_back().cpu_us += 1;
  }
  SECTION("it runs") {
    threads[5].samples.stored().front().state = 'R';
  }
  SECTION("it has another name") {
    threads[5].name = job.capture.tables.string("other");
  }
  SECTION("it is elsewhere") {
    threads[5].samples.stored().front().stack = threads[0].samples.front().stack;
  }
  SECTION("it waits for a process") {
    threads[5].wait.holder_pid = 100;
  }
  SECTION("its wait is young") {
    threads[5].wait.quiet_ms = kOldWaitMs - 1;
  }
  SECTION("more is known of its wait") {
    threads[5].wait.rare.edit().key = job.capture.tables.string("key");
  }
  SECTION("it is in a call") {
    threads[5].call = CollectiveCall();
  }
  SECTION("it has a stack of Python") {
    threads[5].has_python = true;
  }
  CHECK(tids_left(job.capture) == std::vector<pid_t>{100, 101, 102, 105});
}

TEST_CASE("alike threads: threads of Python all stay") {
  tests::CaptureBuilder job = rank_with_pool(tests::ThreadSpec());
  CHECK(tids_left(job.capture).size() == 1 + kPoolThreads);
}

}  // namespace oddrank::snapshot
