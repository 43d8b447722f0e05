// Thread states of several interpreters on one kernel thread, put together.
#include "cpython/join_interpreters.h"

#include "tests/support/catch.h"

namespace oddrank::cpython {
namespace {

OrderedThread state(pid_t tid,
                    std::int64_t interpreter,
                    const char* function,
                    std::uint64_t anchor) {
  OrderedThread row;
  row.thread.target_tid = tid;
  row.thread.interpreter = interpreter;
  row.anchor = attach::Addr{anchor};
  if (function[0] != '\0') {
    row.thread.frames.emplace_back().function = function;
  }
  return row;
}

std::string functions(const PythonThread& thread) {
  std::string all;
  for (const PythonFrame& frame : thread.frames) {
    all += (all.empty() ? "" : " < ") + frame.function;
  }
  return all;
}

TEST_CASE("the lower an interpreter's anchor, the newer its frames") {
  // The runtime lists the newest interpreter first; the main one was called by it here.
  const auto threads = join_interpreters(
      {state(7, 2, "outer", 0x7000), state(7, 1, "middle", 0x6000), state(7, 0, "inner", 0x5000)});
  REQUIRE(threads.size() == 1);
  CHECK(functions(threads[0]) ==
        "inner < <interpreter 0 called here> < middle < <interpreter 1 called here> < outer");
  CHECK(threads[0].interpreter == 0);
}

TEST_CASE("without anchors the older interpreter called the newer") {
  const auto threads = join_interpreters({state(7, 1, "newer", 0), state(7, 0, "older", 0)});
  REQUIRE(threads.size() == 1);
  CHECK(functions(threads[0]) == "newer < <interpreter 1 called here> < older");
  CHECK(threads[0].interpreter == 1);
}

TEST_CASE("threads whose tid is unknown, or another, stay alone and in their order") {
  const auto threads =
      join_interpreters({state(0, 1, "a", 0), state(7, 1, "b", 0), state(0, 0, "c", 0),
                         state(8, 0, "d", 0), state(7, 0, "e", 0)});
  REQUIRE(threads.size() == 4);
  CHECK(functions(threads[0]) == "a");
  CHECK(functions(threads[1]) == "b < <interpreter 1 called here> < e");
  CHECK(functions(threads[2]) == "c");
  CHECK(functions(threads[3]) == "d");
}

TEST_CASE("an interpreter without frames on the thread changes nothing") {
  const auto threads = join_interpreters({state(7, 1, "", 0x5000), state(7, 0, "main", 0x6000)});
  REQUIRE(threads.size() == 1);
  CHECK(functions(threads[0]) == "main");
  CHECK(threads[0].interpreter == 0);
}

TEST_CASE("the thread keeps the error, the GIL and the name of any of its interpreters") {
  OrderedThread inner = state(7, 1, "inner", 0x5000);
  OrderedThread outer = state(7, 0, "outer", 0x6000);
  outer.thread.cut = true;
  outer.thread.too_long = true;
  outer.thread.holds_gil = true;
  outer.thread.gil = 3;
  outer.thread.name = "loader";
  const auto threads = join_interpreters({inner, outer});
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].cut);
  CHECK(threads[0].too_long);
  CHECK(threads[0].holds_gil);
  CHECK(threads[0].gil == 3);
  CHECK(threads[0].name == "loader");
}

}  // namespace
}  // namespace oddrank::cpython
