// Waits of captures of format 8, which hold in words what later formats hold in fields.
#include "snapshot/format/told_wait.h"

#include <string>
#include <utility>

#include "snapshot/format/capture_file.h"
#include "snapshot/format/columns.h"
#include "snapshot/format/decode_rows.h"
#include "snapshot/format/encode_rows.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

// As an oddrank that wrote format 8 would have had it.
struct Told {
  Tables tables;
  Wait wait;

  Told(WaitOn on, const std::string& words) {
    wait.on = on;
    wait.fd = 7;
    wait.path = tables.string("socket:[5]");
    wait.rare.edit().peer = tables.string(on == WaitOn::kSocket ? "10.4.9.9:443" : "");
    wait.detail = tables.string(words);
    facts_of_told_wait(tables, wait);
  }
  std::string detail() const { return std::string(tables.text(wait.detail)); }
  std::string notes() const { return std::string(tables.text(wait.rare->notes)); }
};

TEST_CASE("told in words: a frozen thread, wherever it sleeps") {
  const Told told(WaitOn::kSignal, "frozen by its cgroup (freezer.state)");
  CHECK(told.wait.how == WaitHow::kFrozen);
  CHECK(told.detail() == "frozen by its cgroup (freezer.state)");
  CHECK(Told(WaitOn::kSignal, "waits for a signal (pause)").wait.how == WaitHow::kTold);
}

TEST_CASE("told in words: a lock's time limit") {
  const Told told(WaitOn::kLock, "semaphore, condition or join, with a time limit; it polls");
  CHECK(told.wait.limited);
  CHECK(told.wait.limit_ms == -1);
  CHECK(told.detail() == "semaphore, condition or join");
  CHECK(told.notes() == "it polls");
  const Told end(WaitOn::kLock, "mutex locked by thread 7, with a time limit");
  CHECK(end.wait.limited);
  CHECK(end.detail() == "mutex locked by thread 7");
  CHECK(end.notes().empty());
  // Other waits, and words that go on in another way, stay as they were stored.
  for (const char* words : {"in ppoll() of pipe:[5], with a time limit", ""}) {
    CHECK_FALSE(Told(WaitOn::kPipe, words).wait.limited);
  }
  for (const char* words : {"mutex, with a time limit, wants to read", "mutex",
                            "mutex, with a time limit; ", ", with a time limi"}) {
    const Told other(WaitOn::kLock, words);
    CHECK_FALSE(other.wait.limited);
    CHECK(other.detail() == words);
  }
}

TEST_CASE("told in words: how long a connection has been silent, and TLS above it") {
  const Told told(WaitOn::kSocket,
                  "TCP 10.4.0.2:4 to 10.4.9.9:443, ESTABLISHED, nothing received for 402 s, "
                  "nothing sent for 403 s, over TLS");
  REQUIRE(told.wait.rare->awaited.size() == 1);
  const AwaitedFile& file = told.wait.rare->awaited.front();
  CHECK(file.received_ms == 402'000);
  CHECK(file.tls);
  CHECK(file.fd == 7);
  CHECK(told.tables.text(file.link) == "socket:[5]");
  CHECK(file.state == 0);  // so that no sentence says it twice
  CHECK(file.note == StringId{});
  CHECK(Told(WaitOn::kSocket, "TCP a to b, ESTABLISHED").wait.rare->awaited.empty());
}

TEST_CASE("told in words that no version wrote") {
  for (const char* words :
       {"", ", nothing received for ", ", nothing received for 99999999999999999999 s",
        ", nothing received for -1 s", ", nothing received for 0x7 s"}) {
    CHECK(Told(WaitOn::kSocket, words).wait.rare->awaited.empty());
  }
}

Document one_thread(const std::string& words) {
  Capture capture;
  capture.nodes.emplace_back();
  ThreadCapture thread;
  thread.samples.emplace_back();
  thread.wait.on = WaitOn::kSignal;
  thread.wait.detail = capture.tables.string(words);
  capture.processes.emplace_back().threads = {thread};
  return to_document(capture);
}

// Removes the fields that are new in format 13.
Document of_format_12(Document document) {
  if (auto threads = document.tables.find("threads"); threads != document.tables.end()) {
    threads->second.erase("gc_generation");
  }
  return document;
}

// Removes the fields that are new in format 12, too.
Document of_format_11(Document document) {
  document = of_format_12(std::move(document));
  REQUIRE(document.tables["processes"].erase("communicates") == 1);
  for (const char* name : {"collects_garbage", "ends_interpreter"}) {
    if (auto threads = document.tables.find("threads"); threads != document.tables.end()) {
      threads->second.erase(name);
    }
  }
  REQUIRE(document.tables["processes"].erase("setup") == 1);
  REQUIRE(document.tables.erase("setup") == 1);
  return document;
}

// Removes the fields that are new in format 10, too.
Document of_format_9(Document document) {
  document = of_format_11(std::move(document));
  for (const char* name : {"locals_changed", "stopped", "tracer", "tracer_name"}) {
    REQUIRE(document.tables["samples"].erase(name) == 1);
  }
  for (const char* name : {"outlives_rank", "ending", "exception"}) {
    REQUIRE(document.tables["processes"].erase(name) == 1);
  }
  document.tables.erase("loops");
  document.tables.erase("loop_calls");
  REQUIRE(document.tables["threads"].erase("wait_key") == 1);
  REQUIRE(document.tables["threads"].erase("loops") == 1);
  return document;
}

// Removes the fields that are new in format 9, too.
Document of_format_8(Document document) {
  document = of_format_9(std::move(document));
  document.tables.erase("awaited_files");
  document.tables.erase("pool_pids");
  for (const char* name :
       {"wait_how",     "wait_limited", "wait_limit_ms", "wait_awaited_count", "wait_own_wakers",
        "wait_about",   "wait_notes",   "wait_motion",   "lock_kind",          "lock_owner",
        "lock_wish",    "lock_inner",   "lock_function", "lock_owner_tid",     "lock_owner_pid",
        "lock_readers", "pool_name",    "pool_meant",    "pool_workers",       "awaited",
        "pool_pids"}) {
    REQUIRE(document.tables["threads"].erase(name) == 1);
  }
  return document;
}

TEST_CASE("a capture of format 8 is read, and its words are kept") {
  auto read = decode_document(encode_document(of_format_8(one_thread("frozen by its cgroup (x)"))));
  REQUIRE(read);
  const auto capture = from_document(*read, 8);
  REQUIRE(capture);
  const Wait& wait = capture->processes.at(0).threads.at(0).wait;
  CHECK(wait.how == WaitHow::kFrozen);
  CHECK(capture->tables.text(wait.detail) == "frozen by its cgroup (x)");
  CHECK_FALSE(from_document(*read, 9));  // what format 9 has is missing
  const auto again = decode_capture(encode_capture(*capture));
  REQUIRE(again);
  CHECK(again->processes == capture->processes);
}

TEST_CASE("a capture of format 9 is read, without keys and loops") {
  auto read = decode_document(encode_document(of_format_9(one_thread("in pause()"))));
  REQUIRE(read);
  const auto capture = from_document(*read, 9);
  REQUIRE(capture);
  const ThreadCapture& thread = capture->processes.at(0).threads.at(0);
  CHECK(thread.samples[0] == ThreadSample{});
  CHECK(capture->tables.text(thread.wait.detail) == "in pause()");
  CHECK(thread.loops.empty());
  CHECK_FALSE(from_document(*read, 10));  // what format 10 has is missing
}

TEST_CASE("a capture of format 10 is read, without counts of groups") {
  Capture capture;
  capture.nodes.emplace_back();
  ProcessGroup group;
  group.is_default = true;
  group.rank = 3;
  group.counters.emplace_back().collectives = 7;
  capture.processes.emplace_back().groups = {group};
  capture.collectives.flight.emplace_back().groups.emplace_back();
  capture.collectives.flight.back().entries.emplace_back();
  capture.collectives.flight.back().from_memory = true;
  Document document = of_format_11(to_document(capture));
  document.tables.erase("group_counters");
  for (const char* name : {"rank", "size", "counters"}) {
    REQUIRE(document.tables["groups"].erase(name) == 1);
  }
  REQUIRE(document.tables["flight_records"].erase("from_memory") == 1);
  for (const char* name : {"backend", "enqueued", "started", "completed"}) {
    REQUIRE(document.tables["flight_groups"].erase(name) == 1);
  }
  for (const char* name :
       {"transfer", "operation", "timeout_ms", "started_ns", "completed_ns", "thread"}) {
    REQUIRE(document.tables["flight_entries"].erase(name) == 1);
  }
  auto read = decode_document(encode_document(document));
  REQUIRE(read);
  const auto old = from_document(*read, 10);
  REQUIRE(old);
  CHECK(old->processes[0].groups[0].is_default);
  CHECK(old->processes[0].groups[0].counters.empty());
  CHECK_FALSE(old->collectives.flight.at(0).from_memory);
  CHECK_FALSE(from_document(*read, 11));  // what format 11 has is missing
}

TEST_CASE("a capture of an older format with newer fields is refused") {
  auto read = decode_document(encode_document(of_format_11(one_thread(""))));
  REQUIRE(read);
  CHECK(from_document(*read, 10));
  CHECK(from_document(*read, 11));
  CHECK_FALSE(from_document(*read, 12));  // what format 12 has is missing
  CHECK_FALSE(from_document(*read, 9));
  read = decode_document(encode_document(of_format_9(one_thread(""))));
  REQUIRE(read);
  CHECK_FALSE(from_document(*read, 8));
}

TEST_CASE("more loops or calls than are listed are refused") {
  const auto refused = [](std::size_t loops, std::size_t calls) {
    Capture capture;
    capture.nodes.emplace_back();
    ThreadCapture& thread = capture.processes.emplace_back().threads.emplace_back();
    thread.samples.emplace_back();
    thread.loops.resize(loops);
    thread.loops.front().calls.resize(calls);
    return !decode_capture(encode_capture(capture));
  };
  CHECK_FALSE(refused(kMaxLoops, kMaxLoopCalls));
  CHECK(refused(kMaxLoops + 1, 0));
  CHECK(refused(1, kMaxLoopCalls + 1));
}

}  // namespace
}  // namespace oddrank::snapshot
