#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "report/flight_report.h"
#include "tests/support/catch.h"
#include "tests/support/recorders.h"

namespace oddrank::aggregate {
namespace {

using RankList = std::vector<std::int32_t>;

class FlightRecorders : public tests::Recorders {
 public:
  using tests::Recorders::Recorders;

  // Returns what `oddrank fr` has of these dumps.
  struct Analyzed : FlightFacts {
    std::shared_ptr<snapshot::Capture> capture = std::make_shared<snapshot::Capture>();
    Verdict verdict;
    std::string text;
    std::string json;
  };
  Analyzed analyze(std::uint64_t written_us = 0) const;
};

FlightRecorders::Analyzed FlightRecorders::analyze(std::uint64_t written_us) const {
  Analyzed result;
  into(*result.capture, written_us);
  FrameModel model(result.capture->tables);
  const JobView view(*result.capture, model);
  result.verdict = verdict_of(view);
  if (view.flight() != nullptr) {
    const report::FlightReport report{*view.flight(), result.verdict, {}};
    result.text = report::flight_report_text(report);
    result.json = report::flight_report_json(report);
    static_cast<FlightFacts&>(result) = *view.flight();
  }
  return result;
}

const RankList kAll = {0, 1, 2, 3};

RankList flight_culprits(const FlightRecorders::Analyzed& report) {
  RankList ranks;
  for (const Culprit& culprit : report.verdict.culprits) {
    ranks.push_back(culprit.rank);
  }
  return ranks;
}

TEST_CASE("flight: the rank that has not called is named, even if it is the first one") {
  for (const std::int32_t odd : kAll) {
    FlightRecorders job(4);
    job.call("0", kAll, kAll, "all_reduce", true);
    RankList others = kAll;
    std::erase(others, odd);
    job.call("0", kAll, others, "all_reduce", false);
    const auto report = job.analyze();
    INFO(report.verdict.summary);
    CHECK(report.verdict.kind == Kind::kSkippedCollective);
    CHECK(flight_culprits(report) == RankList{odd});
  }
}

TEST_CASE("flight: the chain through groups ends at its root") {
  FlightRecorders job(4);
  job.call("0", kAll, kAll, "all_reduce", true);
  job.call("tp0", {0, 1}, {0, 1}, "all_gather", true);
  job.call("tp1", {2, 3}, {2, 3}, "all_gather", true);
  job.call("tp0", {0, 1}, {0, 1}, "all_gather", true);
  job.call("tp1", {2, 3}, {2}, "all_gather", false);  // without 3
  job.call("0", kAll, {0, 1}, "all_reduce", false);   // without 2 and 3
  const auto report = job.analyze();
  CHECK(flight_culprits(report) == RankList{3});
  REQUIRE(report.verdict.chain.size() == 2);
  CHECK(report.verdict.chain.back().waits_for == "3");
}

TEST_CASE("flight: groups and waits that a text does not list are counted") {
  for (const std::size_t groups : {24U, 25U, 240U}) {
    INFO(groups);
    FlightRecorders job(2);
    for (std::size_t i = 0; i < groups; ++i) {
      job.call(std::to_string(i), {0, 1}, {0, 1}, "all_reduce", false);
    }
    const std::string text = job.analyze().text;
    const std::string left = std::to_string(groups - 24) + " more group";
    CHECK((text.find(left) != std::string::npos) == (groups > 24));
    CHECK(text.find("... " + std::to_string(groups - 16) + " more waits") != std::string::npos);
  }
}

TEST_CASE("flight: a deviating rank is found by majority, whichever rank comes first") {
  FlightRecorders job(4);
  job.call("0", kAll, {0}, "broadcast", false);
  job.call("0", kAll, {1, 2, 3}, "all_reduce", false);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kMismatchedCollective);
  CHECK(report.verdict.confidence == Confidence::kCertain);
  CHECK(flight_culprits(report) == RankList{0});
  FlightRecorders size(4);
  size.call("0", kAll, {0, 1, 3}, "all_reduce", false, 4);
  size.call("0", kAll, {2}, "all_reduce", false, 5);
  CHECK(flight_culprits(size.analyze()) == RankList{2});
  CHECK(size.analyze().mismatches[0].what == "input size");
  FlightRecorders tie(2);
  tie.call("0", {0, 1}, {0}, "all_reduce", false);
  tie.call("0", {0, 1}, {1}, "broadcast", false);
  CHECK(tie.analyze().verdict.confidence == Confidence::kLikely);
  CHECK(flight_culprits(tie.analyze()) == RankList{0, 1});
}

TEST_CASE("flight: a call that was left out shows as the next one") {
  FlightRecorders job(4);
  job.call("0", kAll, {0, 1, 2}, "all_reduce", false);
  job.call("0", kAll, kAll, "all_gather", false);
  const auto report = job.analyze();
  INFO(report.verdict.summary);
  CHECK(report.verdict.kind == Kind::kSkippedCollective);
  CHECK(flight_culprits(report) == RankList{3});
}

TEST_CASE("flight: uneven collectives and other shapes are no mismatch") {
  FlightRecorders job(4);
  for (const std::int32_t rank : kAll) {
    job.call("0", kAll, {rank}, "all_to_all", false, 4 + rank);
  }
  CHECK(job.analyze().mismatches.empty());
  CHECK(job.analyze().verdict.kind == Kind::kBelowHost);
  CHECK(flight_culprits(job.analyze()).empty());
}

TEST_CASE("flight: being ahead is no fault, and a call that has ended did no harm") {
  FlightRecorders job(4);
  job.call("0", kAll, kAll, "broadcast", true, 4);
  job.call("0", kAll, {0}, "broadcast", true, 4);
  const auto report = job.analyze();
  CHECK(flight_culprits(report).empty());
  CHECK(report.verdict.kind == Kind::kUnknown);
  FlightRecorders shapes(2);
  shapes.call("0", {0, 1}, {0}, "all_reduce", true, 4);
  shapes.call("0", {0, 1}, {1}, "all_reduce", true, 5);
  CHECK(shapes.analyze().mismatches.empty());
}

TEST_CASE("flight: a dump that was written just after the call may be of a slow step") {
  FlightRecorders job(4);
  job.created_us = 1'000'000;
  job.call("0", kAll, {0, 1, 2}, "all_reduce", false);
  job.call("1", {3}, {3}, "all_reduce", true);
  CHECK(job.analyze(job.created_us + 1'000'000).verdict.confidence == Confidence::kPossible);
  const auto late = job.analyze(job.created_us + 60'000'000);
  CHECK(late.verdict.confidence == Confidence::kLikely);
  CHECK(flight_culprits(late) == RankList{3});
}

TEST_CASE("flight: of several ranks that have not come to a broadcast, its root may be the one") {
  FlightRecorders job(3);
  job.call("0", {0, 1, 2}, {0, 1, 2}, "broadcast", true);
  job.call("0", {0, 1, 2}, {0}, "broadcast", false);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kUnknown);
  CHECK(flight_culprits(report).empty());
  CHECK(report.verdict.summary.starts_with("ranks 1-2 have not called broadcast #2"));
}

TEST_CASE("flight: of two equal sides, the one that left its own pattern is named") {
  FlightRecorders job(2);
  for (int step = 0; step < 6; ++step) {
    job.call("0", {0, 1}, {0, 1}, "all_reduce", true);
  }
  job.call("0", {0, 1}, {0}, "all_reduce", false);
  job.call("0", {0, 1}, {1}, "barrier", false);
  CHECK(flight_culprits(job.analyze()) == RankList{1});
}

TEST_CASE("flight: groups that ranks enter in different orders are a circle") {
  FlightRecorders job(2);
  job.call("a", {0, 1}, {0}, "all_reduce", false);
  job.call("b", {0, 1}, {1}, "all_reduce", false);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kCollectiveOrder);
  CHECK(flight_culprits(report) == RankList{0, 1});
}

TEST_CASE("flight: a rank that makes two calls in the other order has left out neither") {
  FlightRecorders job(3);
  job.call("0", {0, 1, 2}, {0, 1}, "all_reduce", false);
  job.call("0", {0, 1, 2}, {0, 1}, "all_gather", false);
  job.call("0", {0, 1, 2}, {2}, "all_gather", false);
  const auto left_out = job.analyze();
  CHECK(left_out.verdict.kind == Kind::kSkippedCollective);
  job.call("0", {0, 1, 2}, {2}, "all_reduce", false);
  const auto report = job.analyze();
  INFO(report.verdict.summary);
  CHECK(report.verdict.kind == Kind::kMismatchedCollective);
  CHECK(flight_culprits(report) == RankList{2});
  CHECK(report.verdict.summary.ends_with("; each calls next what the other one calls here"));
}

TEST_CASE("flight: each rank that is missing is told with the call that it is a member of") {
  FlightRecorders job(4);
  job.call("a", {0, 1}, {0}, "all_reduce", false);
  job.call("b", {2, 3}, {2}, "all_gather", false);
  const auto report = job.analyze();
  CHECK(flight_culprits(report) == RankList{1, 3});
  INFO(report.verdict.summary);
  CHECK(report.verdict.summary.find("rank 1 has not called all_reduce #1 in group a") == 0);
  CHECK(report.verdict.summary.find("; rank 3 has not called all_gather #1 in group b") !=
        std::string::npos);
}

TEST_CASE("flight: a rank that only waits beside a circle is not named") {
  FlightRecorders job(3);
  job.call("0", {0, 1, 2}, {1}, "all_reduce", false);
  job.call("a", {0, 1}, {0}, "all_reduce", false);
  job.call("b", {0, 2}, {2}, "all_reduce", false);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kCollectiveOrder);
  CHECK(flight_culprits(report) == RankList{0, 1});
  CHECK(report.verdict.summary.ends_with("; every way round leads through ranks 0-1"));
}

TEST_CASE("flight: sends and receives are matched by their number between two ranks") {
  FlightRecorders job(3);
  job.transfer(0, {0, 1, 2}, "send", 1);
  job.transfer(1, {0, 1, 2}, "recv", 0, true);  // these two belong together
  job.transfer(2, {0, 1, 2}, "recv", 1);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kSkippedCollective);
  CHECK(flight_culprits(report) == RankList{1});
  CHECK(report.verdict.summary.starts_with(
      "rank 1 has not made the other side of a transfer: rank 2 waits in recv from rank 1"));
  FlightRecorders crossed(2);
  crossed.transfer(0, {0, 1}, "recv", 1);
  crossed.transfer(1, {0, 1}, "recv", 0);
  CHECK(crossed.analyze().verdict.kind == Kind::kP2pOrder);
  CHECK(crossed.analyze().verdict.summary.find("without") == std::string::npos);
}

TEST_CASE("flight: a call that fell off the ring is not missing") {
  FlightRecorders job(3);
  job.call("0", {0, 1, 2}, {0, 1, 2}, "all_reduce", true);
  job.call("pair", {0, 2}, {0, 2}, "all_reduce", true);
  job.call("0", {0, 1, 2}, {0, 1, 2}, "all_reduce", true);
  job.call("pair", {0, 2}, {0}, "all_reduce", false);
  job.lose(2, 2);  // rank 2 has no calls of "pair" left, so it may have made the call
  const auto report = job.analyze();
  INFO(report.verdict.summary);
  CHECK(flight_culprits(report).empty());
  CHECK(report.verdict.kind == Kind::kUnknown);
}

TEST_CASE("flight: a cut file may have lost the newest calls") {
  FlightRecorders job(2);
  job.call("0", {0, 1}, {0, 1}, "all_reduce", true);
  job.call("0", {0, 1}, {0}, "all_reduce", false);
  job.records[1].cut = true;
  CHECK(flight_culprits(job.analyze()).empty());
}

TEST_CASE("flight: a rank without a dump is unknown, and the report names the only one missing") {
  FlightRecorders job(4);
  job.call("0", kAll, kAll, "all_reduce", true);
  job.call("0", kAll, {0, 1, 3}, "all_reduce", false);
  job.remove(2);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kMissingRank);
  CHECK(report.verdict.confidence == Confidence::kPossible);
  CHECK(flight_culprits(report) == RankList{2});
  CHECK(ranks_without_dump(report) == RankList{2});
  job.remove(0);  // ranks 1 and 3 are left
  CHECK(job.analyze().verdict.kind == Kind::kUnknown);
  CHECK(flight_culprits(job.analyze()).empty());
}

TEST_CASE("flight: a rank in a call that all have made is not to blame for another call") {
  FlightRecorders job(3);
  job.call("0", {0, 1, 2}, {0, 1, 2}, "all_reduce", true);
  job.call("pair", {1, 2}, {1, 2}, "all_reduce", false);
  job.call("0", {0, 1, 2}, {0}, "all_reduce", false);
  const auto report = job.analyze();
  CHECK(report.verdict.kind == Kind::kBelowHost);
  CHECK(flight_culprits(report).empty());
}

TEST_CASE("flight: groups with the same name and other members are different groups") {
  FlightRecorders job(4);
  job.call("1", {0, 1}, {0, 1}, "all_reduce", true);
  job.call("1", {2, 3}, {2, 3}, "broadcast", false);
  const auto report = job.analyze();
  CHECK(report.job.groups.size() == 2);
  CHECK(report.mismatches.empty());
}

TEST_CASE("flight: empty dumps, and no dumps at all") {
  const FlightRecorders none(0);
  const auto empty = none.analyze();
  CHECK(empty.verdict.kind == Kind::kUnknown);
  const FlightRecorders two(2);
  const auto idle = two.analyze();
  CHECK(idle.verdict.kind == Kind::kUnknown);
  CHECK(idle.text.find("2 dumps") != std::string::npos);
  CHECK(idle.json.find("\"unknown\"") != std::string::npos);
}

TEST_CASE("flight: if calls share a number the last one counts, in whatever order they come") {
  FlightRecorders job(2);
  job.call("0", {0, 1}, {0, 1}, "all_reduce", false);
  job.call("0", {0, 1}, {0, 1}, "all_reduce", false);
  job.call("0", {0, 1}, {0, 1}, "all_reduce", false, 5);
  for (snapshot::FlightRecord& record : job.records) {
    record.entries[2].sequence = 1;  // a damaged file, or a group that was made anew
  }
  auto report = job.analyze();
  CHECK(report.mismatches.empty());
  CHECK(report.job.groups[0].tracks[0].calls.size() == 2);
  job.records[1].entries.pop_back();
  report = job.analyze();
  REQUIRE(report.mismatches.size() == 1);
  CHECK(report.mismatches[0].sequence == 1);
  CHECK(report.mismatches[0].what == "input size");
}

TEST_CASE("flight: a second dump of a rank, and one without a rank, are left out") {
  FlightRecorders job(2);
  job.records.push_back(job.records[1]);
  job.records.push_back(job.records[1]);
  job.records.back().rank = -1;
  const auto report = job.analyze();
  CHECK(report.job.records.size() == 2);
  CHECK(report.job.notes.size() == 2);
}

}  // namespace
}  // namespace oddrank::aggregate
