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

// In a loop's turn: a call at line 10, and one at line 14 after it.
enum class Place { kUnknown, kFirst, kSecond };

struct Made {
  std::string label;  // "": the default group; "8": a group of that size without a label
  std::int64_t calls = 0;
  std::string name = {};  // "": its number
};

void add_groups(CaptureBuilder& job,
                std::int32_t rank,
                const std::vector<Made>& made,
                Place place) {
  auto& process = job.rank(rank, "n0", pid_of(rank));
  tests::ThreadSpec spec = tests::in_all_reduce();
  if (place == Place::kUnknown) {
    job.thread(process, spec);
  } else {
    const bool first = place == Place::kFirst;
    spec.frames = {tests::native("poll", "libc.so.6"),
                   tests::py("main", "/job/train.py", first ? 10 : 14)};
    auto& row = job.thread(process, spec).places.emplace_back();
    row.frame = 1;
    row.turns.push_back({5, 3});
    if (!first) {
      row.passed.push_back({10, 10});
    }
  }
  for (const Made& one : made) {
    const bool sized = !one.label.empty() && one.label.front() == '8';
    snapshot::ProcessGroup group;
    group.name = job.capture.tables.string(one.name.empty() ? std::to_string(process.groups.size())
                                                            : one.name);
    group.is_default = one.label.empty();
    group.label = sized ? snapshot::StringId{} : job.capture.tables.string(one.label);
    group.size = sized ? 8 : 2;
    snapshot::GroupCounter counter;
    counter.collectives = one.calls;
    group.counters.push_back(counter);
    process.groups.push_back(std::move(group));
  }
}

Strayed outside_of(const std::vector<std::vector<Made>>& ranks,
                   const std::vector<Place>& places = {}) {
  CaptureBuilder job({"n0"}, static_cast<std::int32_t>(ranks.size()));
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    add_groups(job, static_cast<std::int32_t>(at), ranks[at],
               places.empty() ? Place::kUnknown : places[at]);
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

TEST_CASE("common order: who is ahead in the program has made no fewer calls") {
  using enum Place;
  // All make call 12 at the first place; rank 3 left it out and has come to the second.
  const std::vector<std::vector<Made>> made = {{{"8", 12}}, {{"8", 12}}, {{"8", 12}}, {{"8", 11}}};
  CHECK(outside_of(made).empty());
  CHECK(outside_of(made, {kSecond, kFirst, kSecond, kSecond}) == Strayed{3});
  CHECK(outside_of(made, {kSecond, kFirst, kSecond, kUnknown}).empty());
  CHECK(outside_of(made, {kFirst, kSecond, kSecond, kFirst}).empty());  // one against one
  CHECK(outside_of({{{"8", 12}}, {{"8", 11}}}, {kFirst, kSecond}).empty());
}

TEST_CASE("common order: groups of one name count by the order in which they were made") {
  const std::vector<std::vector<Made>> made = {
      {{"8", 4}, {"8", 2}}, {{"8", 4}, {"8", 2}}, {{"8", 3}, {"8", 3}}};
  CHECK(outside_of(made) == Strayed{2});
}

TEST_CASE("common order: the pairs of a ring are no roles") {
  // Each rank has made fewer calls with the next one than with the one before it, but for one.
  CHECK(outside_of({{{"8", 3, "a"}, {"8", 2, "c"}},
                    {{"8", 3, "a"}, {"8", 2, "b"}},
                    {{"8", 2, "b"}, {"8", 3, "c"}}})
            .empty());
}

}  // namespace oddrank::aggregate
