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

using tests::Recorders;

const std::vector<std::int32_t> kFour = {0, 1, 2, 3};

Recorders in_memory() {
  Recorders all(4);
  all.description = "default_pg";
  for (auto& record : all.records) {
    record.from_memory = true;
  }
  return all;
}

std::vector<RankStep> steps_of(const Recorders& all) {
  return rank_steps(make_flight_job(all.records, all.texts));
}

// A step has two gradients' buckets and a norm; rank 2 has made `fewer` calls less than the others.
Recorders training(int calls, int fewer) {
  Recorders all = in_memory();
  all.call("0", kFour, kFour, "broadcast", true);
  for (int i = 0; i < calls; ++i) {
    for (const std::int32_t rank : kFour) {
      if (rank != 2 || i < calls - fewer) {
        all.call("0", kFour, {rank}, "all_reduce", i + 1 < calls, i % 3 == 2 ? 1 : 10 + i % 3);
      }
    }
  }
  return all;
}

TEST_CASE("steps: ranks at the same call are in the same step") {
  const auto steps = steps_of(training(30, 0));
  REQUIRE(steps.size() == 4);
  CHECK(steps[1].calls == 3);
  CHECK(steps[1].step == 11);  // 31 calls: the broadcast shifts them
  CHECK(steps[1].group == "default group");
  CHECK(steps[2].behind == 0);
  CHECK(report::skew_lines(steps).empty());
}

TEST_CASE("steps: ranks at more places than a line has are counted") {
  for (const std::int32_t ranks : {8, 9, 80}) {
    INFO(ranks);
    std::vector<RankStep> steps;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      RankStep& step = steps.emplace_back();
      step.rank = rank;
      step.group = "default group";
      step.calls = 3;
      step.newest = 100 + rank;
    }
    REQUIRE(report::skew_lines(steps).size() == 1);
    const std::string more = ranks == 8   ? ""
                             : ranks == 9 ? ", and 1 more rank"
                                          : ", and 72 more ranks";
    CHECK(report::skew_lines(steps)[0].find("rank 7 at call 107" + more + " of default group") !=
          std::string::npos);
  }
}

TEST_CASE("steps: a rank that is behind by calls of a step, and by steps") {
  auto steps = steps_of(training(30, 1));
  REQUIRE(steps.size() == 4);
  CHECK(steps[2].behind == 0);  // less than a whole step
  REQUIRE(report::skew_lines(steps).size() == 1);
  CHECK(report::skew_lines(steps)[0] ==
        "rank 2 is at call 30, ranks 0-1,3 at call 31 of default group (3 a step: about step 11)");
  steps = steps_of(training(31, 8));
  REQUIRE(steps.size() == 4);
  CHECK(steps[2].behind == 2);
  CHECK(report::step_words(steps[2]) == "about step 8 by its own calls, 2 steps behind");
  CHECK(step_of(steps, 3)->behind == 0);
  CHECK(step_of(steps, 4) == nullptr);
}

TEST_CASE("steps: numbers count on when the ring has lost its beginning") {
  Recorders all = training(90, 3);
  for (const std::int32_t rank : kFour) {
    all.lose(rank, 60);
  }
  const auto steps = steps_of(all);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].step == 31);
  CHECK(steps[2].step == 30);
}

TEST_CASE("steps: the stages of a pipeline count their own transfers") {
  Recorders all = in_memory();
  const auto transfer = [&all](std::int32_t rank, const char* op, std::int32_t peer) {
    auto& entries = all.records[static_cast<std::size_t>(rank)].entries;
    const std::int64_t number = entries.empty() ? 1 : entries.back().transfer + 1;
    all.transfer(rank, kFour, op, peer, true);
    entries.back().transfer = number;
  };
  for (int step = 0; step < 6; ++step) {
    for (int micro = 0; micro < 2; ++micro) {
      for (std::int32_t rank = 0; rank < (step == 5 ? 2 : 4); ++rank) {
        if (rank > 0) {
          transfer(rank, "recv", rank - 1);
        }
        if (rank < 3) {
          transfer(rank, "send", rank + 1);
        }
      }
    }
    for (int micro = 0; micro < 2 && step < 5; ++micro) {
      for (std::int32_t rank = 0; rank < 4; ++rank) {
        if (rank < 3) {
          transfer(rank, "recv", rank + 1);
        }
        if (rank > 0) {
          transfer(rank, "send", rank - 1);
        }
      }
    }
  }
  const auto steps = steps_of(all);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].calls == 4);
  CHECK(steps[1].calls == 8);
  CHECK(steps[1].step == 6);
  CHECK(steps[3].step == 5);
  CHECK(steps[3].behind == 1);
  REQUIRE(report::skew_lines(steps).size() == 1);
  CHECK(
      report::skew_lines(steps)[0] ==
      "ranks 2-3 are in step 5, ranks 0-1 in step 6, by their sends and receives in default group");
}

TEST_CASE("steps: calls that do not repeat, and those of dumps, tell none") {
  Recorders all = in_memory();
  for (int i = 0; i < 20; ++i) {
    all.call("0", kFour, kFour, "all_reduce", true, 100 + i);
    all.call("0", kFour, kFour, i % 7 == 0 || i % 5 == 0 ? "broadcast" : "barrier", true, i * i);
  }
  CHECK(steps_of(all).empty());
  Recorders dumps = training(30, 1);
  for (auto& record : dumps.records) {
    record.from_memory = false;
  }
  CHECK(steps_of(dumps).empty());
}

}  // namespace
}  // namespace oddrank::aggregate
