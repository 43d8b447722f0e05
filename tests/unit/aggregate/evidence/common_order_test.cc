// The numbers of calls that ranks of one program have made, by the roles of their groups.
#include "aggregate/evidence/common_order.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::pid_of;

namespace {

using Strayed = std::vector<std::size_t>;

struct Made {
  std::string label;  // "": the default group; "8": a group of that size without a label
  std::int64_t calls = 0;
};

void add_groups(CaptureBuilder& job, std::int32_t rank, const std::vector<Made>& made) {
  auto& process = job.rank(rank, "n0", pid_of(rank));
  job.thread(process, tests::in_all_reduce());
  for (const Made& one : made) {
    const bool sized = !one.label.empty() && one.label.front() == '8';
    snapshot::ProcessGroup group;
    group.name = job.capture.tables.string(std::to_string(process.groups.size()));
    group.is_default = one.label.empty();
    group.label = sized ? snapshot::StringId{} : job.capture.tables.string(one.label);
    group.size = sized ? 8 : 2;
    snapshot::GroupCounter counter;
    counter.collectives = one.calls;
    group.counters.push_back(counter);
    process.groups.push_back(std::move(group));
  }
}

Strayed outside_of(const std::vector<std::vector<Made>>& ranks) {
  CaptureBuilder job({"n0"}, static_cast<std::int32_t>(ranks.size()));
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    add_groups(job, static_cast<std::int32_t>(at), ranks[at]);
  }
  FrameModel model(job.capture.tables);
  return outside_common_order(JobView(job.capture, model));
}

}  // namespace

TEST_CASE("common order: who left a call out is before some ranks and after none") {
  // all: tp, tp, dp in a loop, at the end a barrier; rank 1 left out a call in tp
  CHECK(outside_of({{{"", 0}, {"dp", 4}, {"tp", 10}},
                    {{"", 1}, {"dp", 5}, {"tp", 9}},
                    {{"", 0}, {"dp", 5}, {"tp", 10}},
                    {{"", 1}, {"dp", 5}, {"tp", 10}}}) == Strayed{1});
  // one too many
  CHECK(outside_of({{{"", 3}, {"dp", 2}}, {{"", 3}, {"dp", 2}}, {{"", 2}, {"dp", 3}}}) ==
        Strayed{2});
}

TEST_CASE("common order: ranks at different points of one sequence are in it") {
  CHECK(outside_of({{{"", 0}, {"dp", 4}}, {{"", 0}, {"dp", 5}}, {{"", 1}, {"dp", 5}}}).empty());
  CHECK(outside_of({{{"", 7}, {"dp", 7}}, {{"", 7}, {"dp", 7}}}).empty());
}

TEST_CASE("common order: one against one is no minority") {
  CHECK(outside_of({{{"", 1}, {"dp", 0}}, {{"", 0}, {"dp", 1}}}).empty());
  CHECK(
      outside_of(
          {{{"", 1}, {"dp", 0}}, {{"", 1}, {"dp", 0}}, {{"", 0}, {"dp", 1}}, {{"", 0}, {"dp", 1}}})
          .empty());
}

TEST_CASE("common order: roles that are not known of all ranks do not count") {
  SECTION("an unknown number") {
    CHECK(outside_of({{{"", 3}, {"dp", 2}}, {{"", 3}, {"dp", 2}}, {{"", 2}, {"dp", -1}}}).empty());
  }
  SECTION("a group that others do not have") {
    CHECK(outside_of({{{"", 3}, {"dp", 2}}, {{"", 3}, {"dp", 2}}, {{"", 2}, {"pp", 3}}}).empty());
  }
  SECTION("two groups of one role") {
    CHECK(outside_of({{{"", 3}, {"8", 2}}, {{"", 3}, {"8", 2}}, {{"", 2}, {"8", 3}, {"8", 3}}})
              .empty());
  }
  SECTION("a rank without groups") {
    CHECK(
        outside_of({{{"", 3}, {"dp", 2}}, {{"", 3}, {"dp", 2}}, {{"", 2}, {"dp", 3}}, {}}).empty());
  }
}

TEST_CASE("common order: groups without a label have the role of their size") {
  CHECK(outside_of({{{"", 3}, {"8", 2}}, {{"", 3}, {"8", 2}}, {{"", 2}, {"8", 3}}}) == Strayed{2});
}

}  // namespace oddrank::aggregate
