#include "snapshot/locals_change.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

bool locals_changed(const Tables& tables, const ThreadCapture& before, const ThreadCapture& after) {
  return advance_between(tables, before, after).changed;
}

struct FrameWith {
  std::string function;
  std::vector<std::pair<std::string, std::string>> locals;
};

// Returns a thread with these Python frames, innermost first, and a native one between them.
ThreadCapture in(Tables& tables, const std::vector<FrameWith>& frames) {
  ThreadCapture thread;
  Stack stack;
  for (const FrameWith& frame : frames) {
    stack.frames.push_back(tables.frame({FrameKind::kNative, 0, tables.string("call")}));
    stack.frames.push_back(tables.frame(
        {FrameKind::kPython, 0, tables.string(frame.function), tables.string("a.py")}));
    FrameLocals& row = thread.locals.emplace_back();
    row.frame = static_cast<std::uint32_t>(stack.frames.size() - 1);
    for (const auto& [name, value] : frame.locals) {
      row.locals.push_back({tables.string(name), tables.string(value)});
    }
  }
  thread.samples.emplace_back().stack = tables.stack(stack);
  return thread;
}

TEST_CASE("a loop that counts its steps has advanced") {
  Tables tables;
  const auto at = [&](const char* step) {
    return in(tables, {{"all_reduce", {}}, {"train", {{"step", step}, {"name", "'a'"}}}});
  };
  CHECK(locals_changed(tables, at("7"), at("8")));
  CHECK_FALSE(locals_changed(tables, at("7"), at("7")));
}

TEST_CASE("a loop that keeps the time in fractions has not advanced") {
  Tables tables;
  const auto at = [&](const char* waited) { return in(tables, {{"poll", {{"waited", waited}}}}); };
  CHECK_FALSE(locals_changed(tables, at("1732.5"), at("1732.75")));
  CHECK_FALSE(locals_changed(tables, at("1e-05"), at("0.0")));
  CHECK(locals_changed(tables, at("None"), at("0.5")));
  CHECK(locals_changed(tables, at("'1.5'"), at("'2.5'")));
}

TEST_CASE("what an object holds may have been changed by another thread") {
  Tables tables;
  const auto at = [&](const char* value) { return in(tables, {{"poll", {{"x", value}}}}); };
  CHECK_FALSE(locals_changed(tables, at("{'n': 1}"), at("{'n': 2}")));
  CHECK_FALSE(locals_changed(tables, at("[1]"), at("[1, 2]")));
  CHECK_FALSE(locals_changed(tables, at("<Model: n=1>"), at("<Model: n=2>")));
  CHECK_FALSE(
      locals_changed(tables, at("<Tensor (1,) int64 cpu [1]>"), at("<Tensor (1,) int64 cpu [2]>")));
  CHECK(locals_changed(tables, at("'{1'"), at("'{2'")));
  CHECK(locals_changed(tables, at("<Tensor (1,) int64 cuda:0>"), at("<Tensor (2,) int64 cuda:0>")));
  CHECK(locals_changed(tables, at("[<P2POp peer=1>]"), at("[<P2POp peer=2>]")));
}

TEST_CASE("frames are paired from the outermost, as long as their functions agree") {
  Tables tables;
  const auto asks = in(tables, {{"exists", {{"path", "'/a'"}}}, {"poll", {{"n", "3"}}}});
  const auto sleeps = in(tables, {{"poll", {{"n", "3"}}}});
  CHECK_FALSE(locals_changed(tables, asks, sleeps));
  const auto other = in(tables, {{"stat", {{"path", "'/b'"}}}, {"poll", {{"n", "3"}}}});
  CHECK_FALSE(locals_changed(tables, asks, other));
  const auto later = in(tables, {{"stat", {{"path", "'/b'"}}}, {"poll", {{"n", "4"}}}});
  CHECK(locals_changed(tables, asks, later));
}

TEST_CASE("a variable that only one sample has does not count, nor do missing locals") {
  Tables tables;
  const auto first = in(tables, {{"poll", {{"n", "3"}}}});
  const auto second = in(tables, {{"poll", {{"n", "3"}, {"found", "False"}}}});
  CHECK_FALSE(locals_changed(tables, first, second));
  CHECK_FALSE(locals_changed(tables, second, first));
  CHECK_FALSE(locals_changed(tables, ThreadCapture{}, second));
  CHECK_FALSE(locals_changed(tables, second, ThreadCapture{}));
}

// Returns a thread in a receive from this rank, or from one of these.
ThreadCapture in_receive(std::int32_t peer, StringId peers = {}) {
  ThreadCapture thread;
  CollectiveCall& call = thread.call.emplace();
  call.kind = CallKind::kRecv;
  call.peer = peer;
  call.peers = peers;
  return thread;
}

TEST_CASE("a thread that waits for other ranks than before has advanced") {
  Tables tables;
  const StringId either = tables.string("1,3");
  CHECK(other_sides_changed(in_receive(-1, either), in_receive(3)));
  CHECK(other_sides_changed(in_receive(1), in_receive(3)));
  CHECK_FALSE(other_sides_changed(in_receive(3), in_receive(3)));
  CHECK_FALSE(other_sides_changed(in_receive(-1, either), in_receive(-1, either)));
  CHECK_FALSE(other_sides_changed(in_receive(3), in_receive(-1)));  // unknown
  CHECK_FALSE(other_sides_changed({}, in_receive(3)));
}

}  // namespace
}  // namespace oddrank::snapshot
