// Which of two ranks of one program is behind the other.
#include "aggregate/view/program_order.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using snapshot::LineRange;
using snapshot::LoopTurn;

struct Placed {
  std::string function;
  std::uint32_t line = 0;
  std::vector<LoopTurn> turns = {};
  std::vector<LineRange> passed = {};
};

using Way = std::vector<Placed>;  // frames, innermost first

void add(tests::CaptureBuilder& job, std::int32_t rank, const Way& way) {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("clock_nanosleep", "libc.so.6")};
  for (const Placed& one : way) {
    spec.frames.push_back(tests::py(one.function, "/job/train.py", one.line));
  }
  auto& thread = job.thread(job.rank(rank, "n0", tests::pid_of(rank)), spec);
  for (std::size_t i = 0; i < way.size(); ++i) {
    auto& place = thread.places.emplace_back();
    place.frame = static_cast<std::uint32_t>(i + 1);
    for (const LoopTurn& turn : way[i].turns) {
      place.turns.push_back(turn);
    }
    for (const LineRange& range : way[i].passed) {
      place.passed.push_back(range);
    }
  }
}

ProgramOrder order_of(const Way& first, const Way& second) {
  tests::CaptureBuilder job({"n0"}, 2);
  add(job, 0, first);
  add(job, 1, second);
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  const ProgramPlace a = place_in_program(view, view.ranks()[0]);
  const ProgramPlace b = place_in_program(view, view.ranks()[1]);
  const ProgramOrder order = program_order(a, b);
  const ProgramOrder back = program_order(b, a);
  CHECK((order == ProgramOrder::kBehind) == (back == ProgramOrder::kAhead));
  CHECK((order == ProgramOrder::kAhead) == (back == ProgramOrder::kBehind));
  return order;
}

}  // namespace

TEST_CASE("program order: behind is who stands at a line that the other has come through") {
  const Way early = {{"main", 10, {{5, 3}}, {}}};
  const Way late = {{"main", 14, {{5, 3}}, {{8, 10}, {12, 12}}}};
  CHECK(order_of(early, late) == ProgramOrder::kBehind);
  CHECK(order_of(early, early) == ProgramOrder::kSame);
  // Another branch of the same turn.
  CHECK(order_of(early, {{"main", 14, {{5, 3}}, {{8, 9}, {12, 12}}}}) == ProgramOrder::kApart);
  CHECK(order_of(early, {{"main", 14, {{13, 3}}, {}}}) == ProgramOrder::kApart);
  CHECK(order_of({{"main", 10, {{5, -1}}, {}}}, {{"main", 14, {{5, 3}}, {}}}) ==
        ProgramOrder::kApart);
}

TEST_CASE("program order: an earlier line of a later turn is ahead") {
  const Way late = {{"main", 14, {{5, 4}}, {{10, 12}}}};
  CHECK(order_of({{"main", 10, {{5, 3}}, {}}}, late) == ProgramOrder::kAhead);
  CHECK(order_of({{"main", 10, {{5, -1}}, {}}}, late) == ProgramOrder::kUnknown);
  // Only loops that both are in count, from the outermost on.
  CHECK(order_of({{"main", 10, {{5, 4}, {9, 7}}, {}}}, late) == ProgramOrder::kBehind);
  CHECK(order_of({{"main", 10, {{5, 3}, {9, 7}}, {}}}, {{"main", 14, {{5, 4}, {9, 1}}, {}}}) ==
        ProgramOrder::kAhead);
}

TEST_CASE("program order: the outermost function in which they part tells") {
  const Placed first = {"main", 10, {{5, 3}}, {}};
  const Placed second = {"main", 14, {{5, 3}}, {{10, 10}}};
  CHECK(order_of({{"step", 90}, first}, {{"send", 20}, second}) == ProgramOrder::kBehind);
  CHECK(order_of({{"step", 90}, first}, {{"step", 95, {}, {{90, 90}}}, first}) ==
        ProgramOrder::kBehind);
  CHECK(order_of({{"step", 90}, first}, {{"send", 20}, first}) == ProgramOrder::kUnknown);
  CHECK(order_of({{"step", 90}, first}, {first}) == ProgramOrder::kUnknown);
}

}  // namespace oddrank::aggregate
