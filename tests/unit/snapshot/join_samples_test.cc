#include "snapshot/join_samples.h"

#include <array>

#include "snapshot/tables.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

ProcessCapture process_with(std::vector<std::pair<pid_t, std::uint64_t>> threads_and_cpu) {
  ProcessCapture process;
  process.read = ReadState::kFull;
  for (const auto& [tid, cpu] : threads_and_cpu) {
    ThreadCapture thread;
    thread.tid = tid;
    thread.samples = {{.cpu_us = cpu, .state = 'S'}};
    process.threads.push_back(std::move(thread));
  }
  return process;
}

TEST_CASE("samples of a thread follow each other, new threads are added, ended ones left out") {
  const Tables tables;
  ProcessCapture process = process_with({{1, 10}, {2, 20}});
  ProcessCapture later = process_with({{1, 11}, {3, 30}});
  later.threads[0].wait.on = WaitOn::kPipe;
  append_samples(tables, process, std::move(later));
  REQUIRE(process.threads.size() == 2);
  REQUIRE(process.threads[0].samples.size() == 2);
  CHECK(process.threads[0].samples[0].cpu_us == 10);
  CHECK(process.threads[0].samples[1].cpu_us == 11);
  CHECK(process.threads[0].wait.on == WaitOn::kPipe);
  CHECK(process.threads[1].samples.size() == 1);
  CHECK(process.threads[1].tid == 3);
}

TEST_CASE("another turn of a loop that goes on by exceptions only is no step further") {
  Tables tables;
  struct Seen {
    std::uint32_t line = 0;  // of call_with_retry, which has the loop
    std::string_view failures = {};
    std::string_view inside = {};
    std::string_view step = "7";  // of main, around it
  };
  const auto sample = [&](const Seen& seen, bool retries) {
    ProcessCapture process = process_with({{1, 0}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {
        tables.frame({.kind = FrameKind::kPython, .function = tables.string(seen.inside)}),
        tables.frame({.kind = FrameKind::kPython,
                      .function = tables.string("call_with_retry"),
                      .line = seen.line}),
        tables.frame({.kind = FrameKind::kPython, .function = tables.string("main"), .line = 3})};
    thread.samples.edit(0).stack = tables.stack(stack);
    thread.locals.push_back({1, {{tables.string("failures"), tables.string(seen.failures)}}});
    thread.locals.push_back({2, {{tables.string("step"), tables.string(seen.step)}}});
    thread.places.push_back({1, {{.line = 20, .retries = retries}}, {}});
    return process;
  };
  struct Case {
    Seen before;
    Seen after;
    bool retries = false;
    bool retried = false;
    bool changed = false;
  };
  const Case cases[] = {
      {{21, "4", "read"}, {21, "5", "read"}, true, true, false},
      {{21, "4", "read"}, {25, "4", "sleep"}, true, true, false},  // as in the handler
      {{21, "4", "read"}, {21, "4", "train"}, true, false, false},
      {{21, "4", "read"}, {21, "5", "read", "8"}, true, false, true},  // another request
      {{21, "4", "read"}, {21, "5", "read"}, false, false, true},
      {{21, "4", "read"}, {21, "4", "read"}, true, false, false},
  };
  for (const Case& one : cases) {
    ProcessCapture process = sample(one.before, one.retries);
    append_samples(tables, process, sample(one.after, one.retries));
    INFO(&one - cases);
    CHECK(process.threads.front().samples.back().retried == one.retried);
    CHECK(process.threads.front().samples.back().locals_changed == one.changed);
  }
}

TEST_CASE("a thread that asks again and again is seen where it asks, and not where it rests") {
  Tables tables;
  const auto sample = [&](WaitHow how, std::string_view inside, std::uint32_t line) {
    ProcessCapture process = process_with({{1, line}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {
        tables.frame({.kind = FrameKind::kPython, .function = tables.string(inside)}),
        tables.frame(
            {.kind = FrameKind::kPython, .function = tables.string("retry"), .line = line})};
    thread.samples.edit(0).stack = tables.stack(stack);
    thread.wait.on = how == WaitHow::kClock ? WaitOn::kUnknown : WaitOn::kSocket;
    thread.wait.how = how;
    thread.places.push_back({1, {{.line = 20, .retries = true}}, {}});
    return process;
  };
  ProcessCapture process = sample(WaitHow::kClock, "sleep", 25);
  append_samples(tables, process, sample(WaitHow::kDescribed, "recv", 21));
  append_samples(tables, process, sample(WaitHow::kClock, "sleep", 25));
  const ThreadCapture& thread = process.threads.front();
  REQUIRE(thread.samples.size() == 3);
  CHECK(thread.wait.on == WaitOn::kSocket);
  CHECK(thread.samples[2].stack == thread.samples[1].stack);
  CHECK(thread.samples[2].cpu_us == 25);
  CHECK(thread.samples[2].retried);
}

TEST_CASE("a loop keeps how many items it had left when the thread was first seen in it") {
  Tables tables;
  const auto frame = [&tables](std::string_view name) {
    return tables.frame({.kind = FrameKind::kPython, .function = tables.string(name)});
  };
  // In `inside`, called in the loop of evaluate.
  const auto sample = [&](std::string_view inside, std::int64_t left, std::uint64_t read_ms) {
    ProcessCapture process = process_with({{1, 0}});
    process.read_us = read_ms * 1000;
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {frame(inside), frame("evaluate"), frame("main")};
    thread.samples.edit(0).stack = tables.stack(stack);
    PythonLoop& loop = thread.loops.emplace_back();
    loop.frame = 1;
    loop.left = left;
    return process;
  };
  ProcessCapture process = sample("load", 20, 1000);
  append_samples(tables, process, sample("forward", 18, 1500));
  append_samples(tables, process, sample("load", 11, 3000));
  const PythonLoop& loop = process.threads.front().loops[0];
  CHECK(loop.left == 11);
  CHECK(loop.left_before == 20);
  CHECK(loop.between_ms == 2000);
  append_samples(tables, process, sample("load", 40, 3500));  // it began anew
  CHECK(process.threads.front().loops[0].left_before == -1);
  ProcessCapture elsewhere = sample("load", 9, 4000);
  elsewhere.threads.front().loops[0].frame = 2;  // in the loop of main
  append_samples(tables, process, std::move(elsewhere));
  CHECK(process.threads.front().loops[0].left_before == -1);
}

TEST_CASE("a loop is found again if a sample has only Python frames") {
  Tables tables;
  const auto sample = [&tables](const std::vector<FrameKind>& kinds, std::int64_t left) {
    ProcessCapture process = process_with({{1, 0}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    for (const FrameKind kind : kinds) {
      stack.frames.push_back(tables.frame({.kind = kind, .function = tables.string("run")}));
    }
    thread.samples.edit(0).stack = tables.stack(stack);
    thread.loops.emplace_back().left = left;
    return process;
  };
  ProcessCapture process = sample({FrameKind::kPython, FrameKind::kPython}, 9);
  append_samples(tables, process,
                 sample({FrameKind::kPython, FrameKind::kPython, FrameKind::kNative}, 7));
  CHECK(process.threads.front().loops[0].left_before == 9);
  append_samples(tables, process, sample({FrameKind::kPython, FrameKind::kNative}, 6));
  CHECK(process.threads.front().loops[0].left_before == -1);  // another activation
}

TEST_CASE("an outer loop is found again if the thread has entered or left an inner one") {
  Tables tables;
  const auto sample = [&tables](const std::vector<std::int64_t>& left) {  // innermost first
    ProcessCapture process = process_with({{1, 0}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {tables.frame({.kind = FrameKind::kPython, .function = tables.string("run")})};
    thread.samples.edit(0).stack = tables.stack(stack);
    for (std::size_t i = 0; i < left.size(); ++i) {
      PythonLoop& loop = thread.loops.emplace_back();
      loop.left = left[i];
      loop.calls.push_back({.name = tables.string(i + 1 == left.size() ? "outer" : "inner")});
    }
    return process;
  };
  ProcessCapture process = sample({2, 9});
  append_samples(tables, process, sample({7}));
  CHECK(process.threads.front().loops[0].left_before == 9);
  append_samples(tables, process, sample({1, 5}));
  CHECK(process.threads.front().loops[0].left_before == -1);
  CHECK(process.threads.front().loops[1].left_before == 9);
}

TEST_CASE("a loop is compared with itself, not with one around it that calls the same") {
  Tables tables;
  const auto sample = [&tables](const std::vector<std::int64_t>& left) {  // innermost first
    ProcessCapture process = process_with({{1, 0}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {
        tables.frame({.kind = FrameKind::kPython, .function = tables.string("evaluate")})};
    thread.samples.edit(0).stack = tables.stack(stack);
    for (const std::int64_t items : left) {
      thread.loops.emplace_back().left = items;
    }
    return process;
  };
  const auto before = [&](const std::vector<std::int64_t>& first,
                          const std::vector<std::int64_t>& then) {
    ProcessCapture process = sample(first);
    append_samples(tables, process, sample(then));
    std::vector<std::int64_t> found;
    for (const PythonLoop& loop : process.threads.front().loops) {
      found.push_back(loop.left_before);
    }
    return found;
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(before({3, 9}, {1, 9}) == Counts{3, 9});
  CHECK(before({0, 9}, {2, 8}) == Counts{-1, 9});
  CHECK(before({0, 4}, {2, 4}) == Counts{-1, 4});  // the inner one began anew, the outer one stands
  CHECK(before({9}, {2, 9}) == Counts{-1, -1});    // it has entered the inner one
}

TEST_CASE("a call of a loop moves on if it acts on another object than before") {
  Tables tables;
  using Call = std::pair<std::string_view, std::string_view>;
  const auto sample = [&tables](const std::vector<Call>& calls) {
    ProcessCapture process = process_with({{1, 0}});
    ThreadCapture& thread = process.threads.front();
    Stack stack;
    stack.frames = {tables.frame({.kind = FrameKind::kPython, .function = tables.string("prune")})};
    thread.samples.edit(0).stack = tables.stack(stack);
    PythonLoop& loop = thread.loops.emplace_back();
    for (const auto& [name, object] : calls) {
      loop.calls.push_back({tables.string(name), tables.string(object)});
    }
    return process;
  };
  ProcessCapture process = sample({{"posix.unlink", "a"}, {"time.sleep", ""}});
  append_samples(tables, process, sample({{"posix.unlink", "b"}, {"time.sleep", ""}}));
  append_samples(tables, process, sample({{"posix.unlink", "b"}, {"time.sleep", ""}}));
  const auto& calls = process.threads.front().loops[0].calls;
  CHECK(calls[0].moves_on);
  CHECK_FALSE(calls[1].moves_on);
  append_samples(tables, process, sample({{"posix.stat", "b"}, {"time.sleep", "c"}}));
  CHECK_FALSE(process.threads.front().loops[0].calls[0].moves_on);  // another call
  CHECK_FALSE(process.threads.front().loops[0].calls[1].moves_on);  // it was not known
}

TEST_CASE("a process that no longer answers keeps its earlier data") {
  Tables tables;
  ProcessCapture process = process_with({{1, 10}});
  ProcessCapture later;
  later.read = ReadState::kNone;
  later.why = tables.string("did not answer");
  later.state = 'D';
  append_samples(tables, process, std::move(later));
  CHECK(process.read == ReadState::kFull);
  CHECK(process.state == 'D');
  CHECK(tables.text(process.why) == "did not answer");
  REQUIRE(process.threads.size() == 1);
  CHECK(process.threads[0].samples.size() == 1);
}

// Thread 1, which the earlier sample stopped after 60 s of sleep, and which the later one finds
// with that many switches more.
std::int64_t quiet_ms_after(std::uint64_t switches, bool stopped) {
  const Tables tables;
  ProcessCapture process = process_with({{1, 10}});
  process.read_us = 1'000'000;
  process.threads[0].samples.edit(0).stopped = stopped;
  process.threads[0].wait.quiet_ms = 60'000;
  ProcessCapture later = process_with({{1, 10}});
  later.read_us = 1'500'000;
  later.threads[0].samples.edit(0).voluntary_switches = switches;
  later.threads[0].wait.quiet_ms = 499;
  append_samples(tables, process, std::move(later));
  return process.threads[0].wait.quiet_ms;
}

TEST_CASE("a stop of ours does not make a long sleep a short one") {
  CHECK(quiet_ms_after(2, true) == 60'500);
  CHECK(quiet_ms_after(3, true) == 499);  // it woke once more
  CHECK(quiet_ms_after(2, false) == 499);
}

// Returns the counter after three samples, of which some did not find the count.
GroupCounter after_samples(std::array<std::int64_t, 3> counts, bool mixed) {
  const Tables tables;
  const auto sample = [mixed](std::int64_t count) {
    ProcessCapture process = process_with({{1, 10}});
    process.groups.emplace_back().counters.push_back({{}, -1, count, -1, count, mixed});
    return process;
  };
  ProcessCapture process = sample(counts[0]);
  append_samples(tables, process, sample(counts[1]));
  append_samples(tables, process, sample(counts[2]));
  return process.groups.front().counters.front();
}

TEST_CASE("the first and the last count that were read stay side by side") {
  CHECK(after_samples({7, 8, 9}, false).transfers_before == 7);
  CHECK(after_samples({7, 8, 9}, false).transfers == 9);
  // Which counts a thread holds is luck if they are of one transfer each.
  CHECK(after_samples({-1, 8, 9}, true).transfers_before == 8);
  CHECK(after_samples({7, -1, 9}, true).transfers_before == 7);
  CHECK(after_samples({7, -1, -1}, true).transfers_before == -1);  // read once only
  CHECK(after_samples({-1, -1, 9}, true).transfers_before == -1);
  CHECK(after_samples({7, 7, 7}, true).transfers_before == 7);
  CHECK(after_samples({7, 8, -1}, true).transfers == 8);
  CHECK(after_samples({7, 8, -1}, true).transfers_before == 7);
  CHECK(after_samples({-1, 8, 9}, false).transfers_before == -1);
  CHECK(after_samples({7, 8, -1}, false).transfers == -1);
}

TEST_CASE("a communicator that no thread holds at the moment stays, with the count that was read") {
  Tables tables;
  const auto with_group = [&tables](const char* backend) {
    ProcessCapture process = process_with({{1, 10}});
    auto& group = process.groups.emplace_back();
    group.backend = tables.string(backend);
    group.counters.push_back({group.backend, -1, 7, -1, 7, true});
    return process;
  };
  ProcessCapture process = with_group("mpi");
  append_samples(tables, process, process_with({{1, 10}}));
  REQUIRE(process.groups.size() == 1);
  CHECK(process.groups[0].counters[0].transfers == 7);
  CHECK(process.groups[0].counters[0].transfers_before == -1);
  process = with_group("gloo");
  append_samples(tables, process, process_with({{1, 10}}));
  CHECK(process.groups.empty());
}

TEST_CASE("a sample says whether locals changed since the one before") {
  Tables tables;
  const auto at_step = [&tables](const char* step) {
    ProcessCapture process = process_with({{1, 10}});
    const FrameId frame = tables.frame({FrameKind::kPython, 0, tables.string("train")});
    process.threads[0].samples.edit(0).stack = tables.stack({{frame}});
    process.threads[0].locals = {{0, {{tables.string("step"), tables.string(step)}}}};
    return process;
  };
  ProcessCapture process = at_step("1");
  append_samples(tables, process, at_step("2"));
  append_samples(tables, process, at_step("2"));
  const auto& samples = process.threads[0].samples;
  REQUIRE(samples.size() == 3);
  CHECK_FALSE(samples[0].locals_changed);
  CHECK(samples[1].locals_changed);
  CHECK_FALSE(samples[2].locals_changed);
}

}  // namespace
}  // namespace oddrank::snapshot
