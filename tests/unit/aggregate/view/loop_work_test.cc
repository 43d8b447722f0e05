#include "aggregate/view/loop_work.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "aggregate/view/job_view.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

struct LoopSpec {
  std::int64_t before = -1;
  std::int64_t left = -1;
  std::string call = {};
  bool moves_on = false;
};

tests::ThreadSpec sleeping() {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("clock_nanosleep", "libc.so.6"),
                 tests::py("evaluate", "/job/train.py", 81), tests::py("main", "/job/train.py", 9)};
  spec.wait.syscall = "clock_nanosleep";
  spec.switch_step = 3;
  return spec;
}

// Returns the words for the only rank of the job; "" if it has no work.
std::string told_of(tests::CaptureBuilder& job) {
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  const auto work = loop_work(view, *view.ranks()[0].process, *view.ranks()[0].decider);
  return work ? work->place + ": " + work_words(*work) : "";
}

// Returns the words for a rank that is, or else sleeps, in a function with such loops, innermost
// first; "" if that is no work.
std::string told(const std::vector<LoopSpec>& loops,
                 std::int64_t written = -1,
                 const tests::ThreadSpec& spec = sleeping()) {
  tests::CaptureBuilder job({"n0"}, 1);
  snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
  for (const LoopSpec& loop : loops) {
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = 1;
    row.iterates = true;
    row.left_before = loop.before;
    row.left = loop.left;
    row.between_ms = 2000;
    if (!loop.call.empty()) {
      row.calls.push_back({job.capture.tables.string(loop.call), {}, loop.moves_on});
    }
  }
  job.process(10).written_bytes = written;
  return told_of(job);
}

TEST_CASE("loop work: what a loop writes that only tries again is a log of its failures") {
  const auto words = [](bool retries) {
    tests::CaptureBuilder job({"n0"}, 1);
    snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), sleeping());
    snapshot::PythonLoop& row = thread.loops.emplace_back();
    row.frame = 1;
    row.calls.push_back({job.capture.tables.string("_io.TextIOWrapper.write"), {}, false});
    thread.places = {{1, {{80, -1, retries}}, {}}};
    job.process(10).written_bytes = 104;
    return told_of(job);
  };
  CHECK(words(false) == "job/train.py:81: its loop has written 104 bytes meanwhile");
  CHECK(words(true).empty());
}

TEST_CASE("loop work: a loop that came nearer to its end") {
  CHECK(told({{1213, 1200}}) ==
        "job/train.py:81: its loop has done 13 items in 2 s, with 1200 left (about 3 min)");
  CHECK(told({{5, 4}}) ==
        "job/train.py:81: its loop has done 1 item in 2 s, with 4 left (about 8 s)");
  CHECK(told({{-1, 3}, {10, 8}}).find("with 8 left") != std::string::npos);  // the outer one
  CHECK_FALSE(told({{21610, 21600}}).empty());
  CHECK(told({{9'999'925, 9'999'776}}).empty());  // a day and a half
  CHECK(
      told({{std::numeric_limits<std::int64_t>::max(), (1LL << 62) + 1}}).ends_with("(about 2 s)"));
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const auto before = static_cast<std::int64_t>(random() % 6) - 1;
    const auto left = static_cast<std::int64_t>(random() % 6) - 1;
    INFO(before << " " << left);
    CHECK(told({{before, left}}).empty() != (left >= 0 && before > left));
  }
}

TEST_CASE("loop work: a loop that asks for something at each turn has no work of its own") {
  CHECK(told({{60, 58, "posixpath.exists"}}).empty());
  CHECK(told({{60, 58, "threading.Event.is_set"}}).empty());
  CHECK_FALSE(told({{60, 58, "forward"}}).empty());
  CHECK_FALSE(told({{60, 58, "posixpath.join"}}).empty());
  CHECK_FALSE(told({{60, 58, "posix.unlink", true}}).empty());  // each time another file
}

TEST_CASE("loop work: a loop that talks to others may be work, one that rests and retries is not") {
  const LoopSpec asks{60, 58, "socket.socket.recv"};
  CHECK(told({asks}).empty());
  tests::ThreadSpec waits;
  waits.frames = {tests::native("recv", "libc.so.6"), tests::py("upload", "/job/train.py", 40)};
  waits.wait.on = snapshot::WaitOn::kSocket;
  waits.wait.syscall = "recvfrom";
  CHECK(told({asks}, -1, waits).find("its loop has done 2 items") != std::string::npos);
  tests::ThreadSpec runs = sleeping();  // between two rests
  runs.frames = {tests::py("evaluate", "/job/train.py", 81)};
  runs.wait.syscall = {};
  runs.wait.on = snapshot::WaitOn::kNothing;
  CHECK(told({{60, 58, "posixpath.exists"}}, -1, runs).empty());
}

TEST_CASE("loop work: a loop that puts out data is work if its process has written some") {
  CHECK(told({{-1, -1, "_io.BufferedWriter.write"}}, 4096) ==
        "job/train.py:81: its loop has written 4096 bytes meanwhile");
  CHECK(told({{-1, -1, "_io.BufferedWriter.write"}}, 0).empty());
  CHECK(told({{-1, -1, "_io.BytesIO.write"}}, 4096).empty());
  CHECK(told({{-1, -1, "posixpath.exists"}}, 4096).empty());
}

// Returns the words for a rank that waits at a connection. -1: not known.
std::string flow(std::int64_t received_ms, std::int64_t sent_ms, std::uint64_t unsent) {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = {tests::native("recv", "libc.so.6"), tests::py("fetch", "/job/train.py", 40)};
  spec.wait.on = snapshot::WaitOn::kSocket;
  snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
  snapshot::AwaitedFile& file = thread.wait.rare.edit().awaited.emplace_back();
  file.received_ms = received_ms;
  file.sent_ms = sent_ms;
  file.unsent = unsent;
  return told_of(job);
}

// Returns the words for a rank that reads from a pipe and last ran some time ago.
std::string pipe_flow(std::int64_t read_bytes, std::int64_t quiet_ms, const char* call = "read") {
  tests::CaptureBuilder job({"n0"}, 1);
  tests::ThreadSpec spec;
  spec.frames = {tests::native("read", "libc.so.6"), tests::py("count", "/job/train.py", 14)};
  spec.wait.on = snapshot::WaitOn::kPipe;
  spec.wait.syscall = call;
  snapshot::ThreadCapture& thread = job.thread(job.rank(0, "n0", 10), spec);
  thread.wait.quiet_ms = quiet_ms;
  job.process(10).read_bytes = read_bytes;
  return told_of(job);
}

TEST_CASE("loop work: lines that come through a pipe") {
  CHECK(pipe_flow(20, 60) == "job/train.py:14: data has come in within the last second");
  CHECK(pipe_flow(20, 9000).empty());  // another thread has read it
  CHECK(pipe_flow(0, 60).empty());     // something else has woken it
  CHECK(pipe_flow(20, -1).empty());
  CHECK(pipe_flow(-1, 60).empty());
  CHECK(pipe_flow(20, 60, "write").empty());
}

TEST_CASE("loop work: data that goes one way through a connection") {
  CHECK(flow(200, 21'000, 0) == "job/train.py:40: data has come in within the last second");
  CHECK(flow(22'000, 300, 4096) == "job/train.py:40: data has gone out within the last second");
  CHECK(flow(22'000, 300, 0).empty());      // a question, or a sign of life, without an answer
  CHECK(flow(200, 250, 0).empty());         // questions and answers
  CHECK(flow(21'000, 22'000, 0).empty());   // it stands
  CHECK(flow(21'000, 22'000, 77).empty());  // what it has sent is not taken
  CHECK(flow(-1, 22'000, 0).empty());
  CHECK(flow(200, -1, 0).empty());
}

}  // namespace
}  // namespace oddrank::aggregate
