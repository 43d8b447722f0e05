#include "aggregate/process_text.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

namespace {

tests::ThreadSpec pool_thread() {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("do_spin", "/usr/lib/libgomp.so.1"),
                 tests::native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
  spec.has_python = false;
  return spec;
}

}  // namespace

TEST_CASE("idle threads of a pool are one line, unless all are asked for") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  for (int thread = 0; thread < 12; ++thread) {
    job.thread(process, pool_thread());
  }
  const std::string text = print_process(job.capture, process, {});
  CHECK(text.find("12 threads idle in do_spin (OpenMP pool): 11-22") != std::string::npos);
  CHECK(text.find("Thread 11") == std::string::npos);
  TextOptions all;
  all.all_threads = true;
  CHECK(print_process(job.capture, process, all).find("Thread 22") != std::string::npos);
}

TEST_CASE("a pool's thread that is blocked inside of its work is not idle") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  const auto libtorch = "/opt/torch/lib/libtorch_cpu.so";
  const auto loop = tests::native("c10d::ProcessGroupGloo::runLoop", libtorch);
  const auto wait = tests::native("pthread_cond_wait", "/lib/libc.so.6");
  tests::ThreadSpec idle;
  idle.has_python = false;
  idle.frames = {wait, tests::native("std::condition_variable::wait", "/lib/libstdc++.so.6"), loop};
  job.thread(process, idle);
  tests::ThreadSpec busy = idle;
  busy.frames = {wait, tests::native("gloo::transport::tcp::UnboundBuffer::waitRecv", libtorch),
                 loop};
  job.thread(process, busy);
  tests::ThreadSpec nameless = idle;
  nameless.frames = {wait, tests::native("", "/opt/site/libcustom.so"), loop};
  job.thread(process, nameless);
  const std::string text = print_process(job.capture, process, {});
  CHECK(text.find("1 thread idle in pthread_cond_wait (gloo workers): 11") != std::string::npos);
  CHECK(text.find("Thread 12") != std::string::npos);
  CHECK(text.find("Thread 13") != std::string::npos);
}

TEST_CASE("threads at the same place are shown once") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  for (int thread = 0; thread < 4; ++thread) {
    job.thread(process, tests::sleeping());
  }
  const std::string text = print_process(job.capture, process, {});
  CHECK(text.find("Thread 10") != std::string::npos);
  CHECK(text.find("and 2 threads at the same place: 12-13") != std::string::npos);
}

TEST_CASE("what could not be read is said") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  process.read = snapshot::ReadState::kPartial;
  process.why = job.capture.tables.string("memory may not be read: ptrace_scope is 2");
  auto& thread = job.thread(process, tests::ThreadSpec{});
  snapshot::Stack cut;
  cut.end = snapshot::StackEnd::kRunning;
  thread.samples.back().stack = job.capture.tables.stack(cut);
  const std::string text = print_process(job.capture, process, {});
  CHECK(text.find("read in part: memory may not be read: ptrace_scope is 2") != std::string::npos);
  CHECK(text.find("no frame was read") != std::string::npos);
  CHECK(text.find("it ran") != std::string::npos);
}

TEST_CASE("hostile names do not reach the terminal") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  process.command = job.capture.tables.string("python3 \x1b]0;owned\x07");
  tests::ThreadSpec spec = tests::sleeping();
  spec.frames = {tests::py("\x1b[2J", "/a/\x1b[H.py", 1)};
  spec.python_name = "\xff\x1b";
  spec.wait.path = "\x1b[31m";
  job.thread(process, spec);
  const std::string text = print_process(job.capture, process, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

}  // namespace oddrank::aggregate
