#include "report/process_text.h"

#include "report/text_options.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::report {

namespace {

tests::ThreadSpec pool_thread() {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("do_spin", "/usr/lib/libgomp.so.1"),
                 tests::native("gomp_thread_start", "/usr/lib/libgomp.so.1")};
  spec.has_python = false;
  return spec;
}

std::string print_of(const tests::CaptureBuilder& job,
                     const snapshot::ProcessCapture& process,
                     const TextOptions& options) {
  aggregate::FrameModel model(job.capture.tables);
  return print_process(aggregate::JobView(job.capture, model), process, options);
}

}  // namespace

TEST_CASE("idle threads of a pool are one line, unless all are wanted") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  for (int thread = 0; thread < 12; ++thread) {
    job.thread(process, pool_thread());
  }
  const std::string text = print_of(job, process, {});
  CHECK(text.find("12 threads idle in do_spin (OpenMP pool): 11-22") != std::string::npos);
  CHECK(text.find("Thread 11") == std::string::npos);
  TextOptions all;
  all.all_threads = true;
  CHECK(print_of(job, process, all).find("Thread 22") != std::string::npos);
}

TEST_CASE("a pool's thread that is blocked inside its work is not idle") {
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
                 tests::native("gloo::allreduce", libtorch), loop};
  job.thread(process, busy);
  tests::ThreadSpec nameless = idle;
  nameless.frames = {wait, tests::native("", "/opt/site/libcustom.so"), loop};
  job.thread(process, nameless);
  const std::string text = print_of(job, process, {});
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
  const std::string text = print_of(job, process, {});
  CHECK(text.find("Thread 10") != std::string::npos);
  CHECK(text.find("and 2 threads at the same place: 12-13") != std::string::npos);
}

TEST_CASE("threads that could not be read are reported") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  process.read = snapshot::ReadState::kPartial;
  process.why = job.capture.tables.string("memory may not be read: ptrace_scope is 2");
  auto& thread = job.thread(process, tests::ThreadSpec{});
  snapshot::Stack cut;
  cut.end = snapshot::StackEnd::kRunning;
  thread.samples.edit_back().stack = job.capture.tables.stack(cut);
  const std::string text = print_of(job, process, {});
  CHECK(text.find("read in part: memory may not be read: ptrace_scope is 2") != std::string::npos);
  CHECK(text.find("no frame was read") != std::string::npos);
  CHECK(text.find("the thread was running") != std::string::npos);
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
  const std::string text = print_of(job, process, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("stacks that do not fit stand side by side, with the counts") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec spec;
  spec.frames = {tests::native("read", "/lib/libc.so.6"), tests::native("inner", "/x/ext.so")};
  auto& thread = job.thread(process, spec);
  auto& tables = job.capture.tables;
  const auto& sample = thread.samples.back();
  snapshot::Stack native = tables.stack(sample.stack);
  native.merge = snapshot::MergeState::kMismatch;
  snapshot::Frame frame;
  frame.kind = snapshot::FrameKind::kPython;
  frame.function = tables.string("train_step");
  frame.file = tables.string("/home/u/train.py");
  frame.line = 88;
  frame.flags = snapshot::kEntry;
  snapshot::Stack python;
  python.merge = snapshot::MergeState::kMismatch;
  python.frames = {tables.frame(frame)};
  thread.samples.edit_back().stack = tables.stack(native);
  thread.samples.edit_back().python_stack = tables.stack(python);
  const std::string text = print_of(job, process, {});
  const std::string row =
      "    read  libc.so.6" + std::string(21, ' ') + " | train_step  u/train.py:88\n";
  CHECK(text.find(row) != std::string::npos);
  CHECK(text.find("    inner  ext.so") != std::string::npos);
  CHECK(text.find("do not match: 0 evaluation loops, 1 entry of Python") != std::string::npos);
}

TEST_CASE("locals stand below their frames, if they are wanted") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec spec;
  spec.frames = {tests::native("read", "/lib/libc.so.6"), tests::py("f", "/home/u/a.py", 3),
                 tests::py("f", "/home/u/a.py", 3), tests::py("<module>", "/home/u/a.py", 9)};
  auto& thread = job.thread(process, spec);
  auto& tables = job.capture.tables;
  thread.locals = {{1, {{tables.string("n"), tables.string("0")}}},
                   {2, {{tables.string("n"), tables.string("1")}}}};
  CHECK(print_of(job, process, {}).find("n = 0") == std::string::npos);
  TextOptions options;
  options.locals = true;
  const std::string text = print_of(job, process, options);
  const auto inner = text.find("u/a.py:3\n        n = 0\n");
  REQUIRE(inner != std::string::npos);
  CHECK(text.find("u/a.py:3\n        n = 1\n", inner) != std::string::npos);
}

TEST_CASE("asyncio tasks: which one waits for which") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  job.task(process, {"load", {tests::py("load", "/u/a.py", 3)}, "<Future>"});
  job.task(process, {"one", {}, "load"});
  job.task(process, {"all", {}, "<_GatheringFuture>", {"load", "one", "<Future>"}});
  job.task(process, {"rest", {}, "<Future>", {"one"}});
  job.task(process, {"futures", {}, "<_GatheringFuture>", {"<Future>", "<Future>"}});
  job.task(process, {"many", {}, "<Future>", std::vector<std::string>(30, "one")});
  const std::string text = print_of(job, process, {});
  const auto told = [&text](std::string_view line) {
    INFO(line);
    CHECK(text.find("\ntask " + std::string(line) + "\n") != std::string::npos);
  };
  told("\"load\" waits for <Future>");
  told("\"one\" waits for task \"load\"");
  told("\"all\" waits for tasks \"load\", \"one\", <Future>");
  told("\"rest\" waits for task \"one\"");
  told("\"futures\" waits for <Future>, <Future>");
  CHECK(text.find("\"one\", \"one\" and 22 more\n") != std::string::npos);
  CHECK(text.find("u/a.py:3\n") != std::string::npos);
}

TEST_CASE("greenlets are told from asyncio tasks by their state, whatever a task is called") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  job.task(process, {"", {tests::py("load", "/u/a.py", 3)}});
  process.tasks.back().state = snapshot::TaskState::kParked;
  job.task(process, {"<greenlet>", {}, "<Future>"});
  const std::string text = print_of(job, process, {});
  CHECK(text.find("\ngreenlet is parked\n    load") != std::string::npos);
  CHECK(text.find("\ntask \"<greenlet>\" waits for <Future>\n") != std::string::npos);
}

TEST_CASE("the GIL: its holder, its waiters, its interpreter and the time held") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping()).holds_gil = true;
  tests::ThreadSpec asks = tests::sleeping();
  asks.switch_step = 98;
  auto& waiter = job.thread(process, asks);
  waiter.wants_gil = true;
  waiter.gil = 2;
  job.thread(process, tests::sleeping()).wants_gil = true;
  auto& holder = job.thread(process, tests::sleeping());
  holder.holds_gil = true;
  holder.gil = 2;
  TextOptions all;
  all.all_threads = true;
  const std::string text = print_of(job, process, all);
  CHECK(text.find("(sleeping, holds the GIL)") != std::string::npos);
  CHECK(text.find("wants the GIL of interpreter 2, for about 0.5 s or longer)") !=
        std::string::npos);
  CHECK(text.find("(sleeping, wants the GIL)") != std::string::npos);
}

TEST_CASE("threads that take turns with the GIL have not waited for it all the time") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec busy = tests::sleeping();
  busy.switch_step = 98;
  job.thread(process, busy).holds_gil = true;
  job.thread(process, busy).wants_gil = true;
  TextOptions all;
  all.all_threads = true;
  const std::string text = print_of(job, process, all);
  CHECK(text.find("wants the GIL)") != std::string::npos);
  CHECK(text.find("or longer") == std::string::npos);
}

TEST_CASE("a crash is the first line, and its thread comes first") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  tests::ThreadSpec spec;
  spec.frames = {tests::native("strlen", "/lib/libc.so.6"), tests::py("f", "/home/u/a.py", 3)};
  auto& thread = job.thread(process, spec);
  process.crash = snapshot::Crash{11, 1, 0x10, thread.tid, 0, {}};
  const std::string text = print_of(job, process, {});
  CHECK(text.starts_with("Crashed by SIGSEGV: nothing is mapped at 0x10, in strlen (libc.so.6)"));
  CHECK(text.find("crashed by SIGSEGV") < text.find("Thread 10 "));
  // Ended by another process: no thread is at fault.
  process.crash = snapshot::Crash{15, 0, 0, thread.tid, 77, {}};
  const std::string ended = print_of(job, process, {});
  CHECK(ended.starts_with("Ended by SIGTERM from pid 77"));
  CHECK(ended.find("rashed") == std::string::npos);
}

TEST_CASE("abort() shows who called it, and what it said") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec spec;
  spec.frames = {tests::native("raise", "/lib/libc.so.6"), tests::native("abort", "/lib/libc.so.6"),
                 tests::native("__assert_fail", "/lib/libc.so.6"),
                 tests::native("check", "/job/ext.so")};
  auto& thread = job.thread(process, spec);
  process.crash = snapshot::Crash{
      6, -6, 0, thread.tid, process.pid, job.capture.tables.string("check: Assertion `x' failed.")};
  TextOptions wide;
  wide.width = 200;
  const std::string text = print_of(job, process, wide);
  CHECK(text.find("Crashed by SIGABRT by abort(), in check (ext.so)") == 0);
  CHECK(text.find("\"check: Assertion `x' failed.\"") < 150);
}

TEST_CASE("recursion is one line, and the outermost frames stay") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec spec;
  spec.frames = {tests::py("leaf", "/home/u/a.py", 1)};
  for (int i = 0; i < 2000; ++i) {
    spec.frames.push_back(tests::py("f", "/home/u/a.py", 3));
  }
  for (int i = 0; i < 3; ++i) {
    spec.frames.push_back(tests::py("even", "/home/u/a.py", 5));
    spec.frames.push_back(tests::py("odd", "/home/u/a.py", 6));
  }
  spec.frames.push_back(tests::py("<module>", "/home/u/a.py", 9));
  job.thread(process, spec);
  const std::string text = print_of(job, process, {});
  CHECK(text.find("... `f` 1,999 more times\n") != std::string::npos);
  CHECK(text.find("... `even`, `odd` 2 more times\n") != std::string::npos);
  CHECK(text.find("<module>") != std::string::npos);
  TextOptions full;
  full.full_stacks = true;
  CHECK(print_of(job, process, full).find("more times") == std::string::npos);
}

TEST_CASE("long values of locals go on in further lines") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec spec;
  spec.frames = {tests::py("f", "/home/u/a.py", 3)};
  auto& thread = job.thread(process, spec);
  auto& tables = job.capture.tables;
  thread.locals = {{0, {{tables.string("n"), tables.string("{'a': 1, 'b': 2, 'c': 3, 'd': 4}")}}}};
  TextOptions options;
  options.locals = true;
  options.width = 40;
  const std::string text = print_of(job, process, options);
  CHECK(text.find("        n = {'a': 1, 'b': 2, 'c': 3,\n            'd': 4}\n") !=
        std::string::npos);
}

}  // namespace oddrank::report
