#include "aggregate/flight/flight_history.h"

#include "report/call_lines.h"
#include "tests/support/catch.h"
#include "tests/support/recorders.h"

namespace oddrank::aggregate {
namespace {

using tests::Recorders;

const std::vector<std::int32_t> kPair = {0, 1};

// Two ranks that enter the groups "a" and "b" in turn, for `steps` steps.
Recorders in_turn(int steps) {
  Recorders recorders(2);
  for (int step = 0; step < steps; ++step) {
    recorders.call("a", kPair, kPair, "all_reduce", true);
    recorders.call("b", kPair, kPair, "all_reduce", true);
  }
  return recorders;
}

TEST_CASE("the rank that enters two groups in another order than before has left its pattern") {
  Recorders recorders = in_turn(4);
  recorders.call("a", kPair, {0}, "all_reduce", false);
  recorders.call("b", kPair, {1}, "all_reduce", false);
  const FlightJob job = make_flight_job(recorders.records, recorders.texts);
  CHECK(left_own_pattern(job, kPair) == std::vector<std::int32_t>{1});
  CHECK(report::history_lines(histories_of(job, {1})) ==
        std::vector<std::string>{"rank 1: ... all_reduce group a #3, all_reduce group b #3, "
                                 "all_reduce group a #4, all_reduce group b #4, "
                                 "all_reduce group b #5 (open)",
                                 "rank 0: ... all_reduce group a #3, all_reduce group b #3, "
                                 "all_reduce group a #4, all_reduce group b #4, "
                                 "all_reduce group a #5 (open)"});
}

TEST_CASE("a past that is too short foretells nothing") {
  Recorders recorders = in_turn(1);
  recorders.call("a", kPair, {0}, "all_reduce", false);
  recorders.call("b", kPair, {1}, "all_reduce", false);
  const FlightJob job = make_flight_job(recorders.records, recorders.texts);
  CHECK(left_own_pattern(job, kPair).empty());
}

TEST_CASE("a change that all ranks make names none") {
  Recorders recorders = in_turn(4);
  recorders.call("c", kPair, kPair, "barrier", false);
  const FlightJob job = make_flight_job(recorders.records, recorders.texts);
  CHECK(left_own_pattern(job, kPair).empty());
  CHECK(is_past_pattern(job, 0));
}

TEST_CASE("equal neighbours within a step do not make a period of one") {
  Recorders recorders(2);
  for (int step = 0; step < 5; ++step) {
    for (const char* group : {"a", "a", "b"}) {
      recorders.call(group, kPair, kPair, "all_reduce", true);
    }
  }
  recorders.call("a", kPair, kPair, "all_reduce", true);
  recorders.call("a", kPair, kPair, "all_reduce", true);
  recorders.call("b", kPair, {0}, "all_reduce", false);
  recorders.call("a", kPair, {1}, "all_reduce", false);
  const FlightJob job = make_flight_job(recorders.records, recorders.texts);
  CHECK(left_own_pattern(job, kPair) == std::vector<std::int32_t>{1});
  CHECK_FALSE(is_past_pattern(job, 1));
}

}  // namespace
}  // namespace oddrank::aggregate
