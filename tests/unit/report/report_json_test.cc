#include "report/report_json.h"

#include <algorithm>

#include "aggregate/diagnose.h"
#include "report/listed_objects.h"
#include "report/report_text.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/json.h"

namespace oddrank::report {

using tests::Json;
using tests::parse_json;

namespace {

Json json_of(const snapshot::Capture& capture) {
  return parse_json(report_json(aggregate::diagnose(capture), capture));
}

}  // namespace

TEST_CASE("asyncio tasks have names, what they await and its members") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, tests::sleeping());
  job.task(
      process,
      {"all", {tests::py("load", "/u/a.py", 3)}, "<_GatheringFuture>", {"Task-2", "<Future>"}});
  job.task(process, {"Task-2", {}, "all"});
  job.task(process, {"", {tests::py("parked", "/u/a.py", 4)}});
  process.tasks.back().state = snapshot::TaskState::kParked;
  const Json tasks = json_of(job.capture)["ranks"][0]["tasks"];
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0]["kind"] == "asyncio");
  CHECK(tasks[2]["kind"] == "greenlet");
  CHECK(tasks[2]["words"] == "is parked");
  CHECK(tasks[0]["name"] == "all");
  CHECK(tasks[0]["awaits"] == "<_GatheringFuture>");
  CHECK(tasks[0]["members"] == Json({"Task-2", "<Future>"}));
  CHECK(tasks[0]["frames"].size() == 1);
  CHECK(tasks[1]["awaits"] == "all");
  CHECK(tasks[1]["members"].empty());
}

TEST_CASE("the JSON has the fields of format 1") {
  const Json json = json_of(tests::input_stall_job().capture);
  CHECK(json["oddrank"]["format"] == 1);
  CHECK(json["job"]["id"] == "4711");
  CHECK(json["job"]["source"] == "slurm");
  CHECK(json["job"]["world_size"] == 8);
  CHECK(json["job"]["hosts"] == Json({"n0", "n1", "n2", "n3"}));
  CHECK(json["coverage"]["expected"] == 8);
  CHECK(json["coverage"]["read"] == 8);
  CHECK(json["coverage"]["unread"].empty());
  CHECK(json["coverage"]["capture_skew_ms"] == 15);
  const Json& culprit = json["verdict"]["culprits"][0];
  CHECK(culprit["rank"] == 5);
  CHECK(culprit["host"] == "n2");
  CHECK(culprit["pid"] == 3005);
  CHECK(culprit["waits_for"]["what"] == "child");
  CHECK(culprit["waits_for"]["pid"] == 3380);
  CHECK(culprit["waits_for"]["path"] == "/home/ada/demo/data/shard-5.tar");
  CHECK(json["groups"][0]["ranks"] == "5");
  CHECK(json["groups"][1]["count"] == 7);
  CHECK(json["ranks"].size() == 8);
  CHECK(json["ranks"][5]["children"][0]["pid"] == 3380);
  const Json& frame = json["ranks"][0]["threads"][0]["frames"][0];
  CHECK(frame["name"] == "__futex_abstimed_wait_common");
  CHECK(frame["kind"] == "native");
  CHECK(frame["line"].is_null());
  CHECK(json["collectives"][0]["absent"] == "5");
}

TEST_CASE("the program's lines are there if a library's thread speaks for the rank") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  tests::ThreadSpec waits = tests::sleeping();
  waits.wait.on = snapshot::WaitOn::kThread;
  waits.frames = {tests::native("pthread_cond_wait", "libc.so.6"),
                  tests::py("train_step", "/u/train.py", 41)};
  job.thread(process, waits);
  tests::ThreadSpec engine = tests::in_all_reduce();
  engine.has_python = false;
  engine.frames = {
      tests::native("_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrIiE", "libtorch.so")};
  job.thread(process, engine);

  const Json group = json_of(job.capture)["groups"][0];
  CHECK(group["frames"].size() == 1);
  CHECK(group["main_thread_frames"].back() == "train_step (u/train.py:41)");
  const std::string text = report_text(aggregate::diagnose(job.capture), job.capture, {});
  CHECK(text.find("the main thread:\n") != std::string::npos);
  CHECK(text.find("train_step") != std::string::npos);

  process.threads.back().has_python = true;
  CHECK_FALSE(json_of(job.capture)["groups"][0].contains("main_thread_frames"));
}

TEST_CASE("unknown values are null") {
  const Json json = json_of(tests::missing_rank_job().capture);
  CHECK(json["verdict"]["kind"] == "missing_rank");
  CHECK(json["verdict"]["culprits"][0]["rank"] == 7);
  CHECK(json["verdict"]["culprits"][0]["pid"].is_null());
  CHECK(json["verdict"]["culprits"][0]["host"].is_null());
  CHECK(json["coverage"]["unread"][0]["rank"] == 7);
}

TEST_CASE("bytes that are not UTF-8 do not break the JSON") {
  auto job = tests::input_stall_job();
  auto& tables = job.capture.tables;
  job.process(3380).threads[0].wait.path = tables.string("/data/\xff\xfe.tar");
  job.capture.job.name = "\xc3";
  job.process(tests::pid_of(1)).command = tables.string("\x80");
  job.process(tests::pid_of(1)).state = '\xf0';
  CHECK_NOTHROW(json_of(job.capture));
}

TEST_CASE("an empty capture has a report") {
  const snapshot::Capture nothing;
  const Json json = json_of(nothing);
  CHECK(json["verdict"]["kind"] == "unknown");
  CHECK(json["verdict"]["culprits"].empty());
  CHECK(json["coverage"]["expected"] == 0);
  CHECK(json["job"]["id"].is_null());
}

TEST_CASE("the JSON of a job with very many threads counts them") {
  auto job = tests::input_stall_job();
  auto& threads = job.process(tests::pid_of(0)).threads;
  while (threads.size() <= kMaxListedThreads) {
    threads.push_back(threads.back());
  }
  const Json json = json_of(job.capture);
  REQUIRE(json["ranks"].size() == 8);
  CHECK(json["ranks"][0]["threads"].empty());
  CHECK(json["ranks"][0]["threads_left_out"] == threads.size());
  CHECK(json["ranks"][5]["children"][0]["threads_left_out"] == 1);
  CHECK(json["verdict"]["culprits"][0]["rank"] == 5);
  CHECK(json_of(tests::input_stall_job().capture)["ranks"][0].contains("threads_left_out") ==
        false);
}

TEST_CASE("the JSON counts threads that were left out before") {
  auto job = tests::input_stall_job();
  auto& process = job.process(tests::pid_of(0));
  process.threads_left_out = 7;
  CHECK(json_of(job.capture)["ranks"][0]["threads_left_out"] == 7);
  process.threads_left_out = kMaxListedThreads;
  CHECK(json_of(job.capture)["ranks"][0]["threads_left_out"] ==
        kMaxListedThreads + process.threads.size());
}

TEST_CASE("the JSON of a thread with very many frames has the innermost and counts the others") {
  for (const std::size_t depth : {kMaxListedFrames, kMaxListedFrames + 1, 10 * kMaxListedFrames}) {
    INFO(depth);
    auto job = tests::input_stall_job();
    auto& process = job.process(tests::pid_of(0));
    auto& thread = process.threads[0];
    snapshot::Stack stack = job.capture.tables.stack(thread.samples.back().stack);
    REQUIRE_FALSE(stack.frames.empty());
    const snapshot::FrameId outermost = stack.frames.back();
    stack.frames.resize(depth, outermost);
    stack.end = snapshot::StackEnd::kLimit;
    for (std::size_t i = 0; i < thread.samples.size(); ++i) {
      thread.samples.edit(i).stack = job.capture.tables.stack(stack);
    }
    process.threads.push_back(thread);
    process.threads.back().tid += 1;
    const std::size_t left_out = depth - std::min(depth, kMaxListedFrames);
    const Json rank = json_of(job.capture)["ranks"][0];
    CHECK_FALSE(rank.contains("threads_left_out"));
    const Json first = rank["threads"][0];
    CHECK(first["frames"].size() == depth - left_out);
    CHECK(first.value("frames_left_out", std::size_t{0}) == left_out);
    CHECK(first["cut"] == true);
    const Json last = rank["threads"].back();  // what room is left is for its innermost frames
    CHECK(last["frames"].size() + last["frames_left_out"].get<std::size_t>() == depth);
    CHECK(last["frames"].size() > 1000);
  }
}

TEST_CASE("the variables of frames take room, too, and go with them") {
  auto job = tests::input_stall_job();
  auto& thread = job.process(tests::pid_of(0)).threads[0];
  snapshot::Stack stack = job.capture.tables.stack(thread.samples.back().stack);
  const snapshot::FrameId outermost = stack.frames.back();
  stack.frames.resize(kMaxListedFrames, outermost);
  for (std::size_t i = 0; i < thread.samples.size(); ++i) {
    thread.samples.edit(i).stack = job.capture.tables.stack(stack);
  }
  thread.locals.clear();
  const snapshot::StringId name = job.capture.tables.string("k");
  for (std::uint32_t i = 0; i < kMaxListedFrames; ++i) {
    thread.locals.push_back({i, {{name, name}, {name, name}}});
  }
  const Json first = json_of(job.capture)["ranks"][0]["threads"][0];
  CHECK(first["frames"].size() > 1500);
  CHECK(first["locals"].size() == first["frames"].size());
  CHECK(first["frames"].size() + first["frames_left_out"].get<std::size_t>() == kMaxListedFrames);
}

}  // namespace oddrank::report
