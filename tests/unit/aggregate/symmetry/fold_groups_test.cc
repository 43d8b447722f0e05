#include "aggregate/symmetry/fold_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/mesh_job.h"

namespace oddrank::aggregate {
namespace {

using tests::CaptureBuilder;
using tests::Mesh;
using ShownRows = std::vector<std::string>;

// Returns "PARTS groups, RANKS ranks: PHASE" for each row; the phase only of folded ones.
ShownRows shown_rows(const snapshot::Capture& capture) {
  const Diagnosis report = diagnose(capture);
  ShownRows rows;
  std::size_t ranks = 0;
  for (const ShownGroup& row : report.shown) {
    const ReportedGroup& group = report.group_of(row);
    ranks += group.count;
    rows.push_back(std::to_string(row.parts.size()) + " groups, " + std::to_string(group.count) +
                   " ranks: " + (row.is_folded() ? group.phase : ""));
  }
  CHECK(ranks == capture.processes.size());
  return rows;
}

ShownRows in_order(ShownRows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::function<std::int32_t(std::int32_t)> permuted_ranks(std::int32_t ranks, unsigned seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return [order](std::int32_t place) { return order[static_cast<std::size_t>(place)]; };
}

// Changes the calls of all ranks that are in a group of the name.
void change_calls(CaptureBuilder& job,
                  const std::string& group,
                  const std::function<void(snapshot::ThreadCapture&)>& change) {
  std::size_t changed = 0;
  for (auto& process : job.capture.processes) {
    auto& thread = process.threads.front();
    if (thread.call && job.capture.tables.text(thread.call->group) == group) {
      change(thread);
      ++changed;
    }
  }
  REQUIRE(changed > 0);
}

// Returns how many groups the first folded row stands for, with the other rows.
std::vector<std::size_t> first_fold(const snapshot::Capture& capture) {
  const Diagnosis report = diagnose(capture);
  for (const ShownGroup& row : report.shown) {
    if (row.is_folded()) {
      return {row.parts.size(), report.shown.size()};
    }
  }
  return {0, report.shown.size()};
}

// 2 × 16 ranks: the groups of "dp" are alike, but for the one of the odd rank.
Mesh two_dimensions() {
  Mesh mesh;
  mesh.dimensions = {{"dp", 2}, {"tp", 16}};
  mesh.odd = 3;
  return mesh;
}

}  // namespace

TEST_CASE("fold: the groups of a dimension are one row, and what leads to the root is apart") {
  CHECK(shown_rows(tests::mesh_job(tests::three_dimensions(4, 4, 8)).capture) ==
        ShownRows{"1 groups, 1 ranks: ", "1 groups, 7 ranks: ", "1 groups, 3 ranks: ",
                  "1 groups, 2 ranks: ",
                  "31 groups, 93 ranks: all_reduce in group dp#* (31 groups of 4), #4711",
                  "7 groups, 14 ranks: recv from rank * (7 senders)",
                  "8 groups, 8 ranks: recv from rank * (8 senders)"});
}

TEST_CASE("fold: other names of groups and other numbers of ranks change nothing") {
  std::mt19937 random(7);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Mesh mesh;
    for (std::size_t at = 0, many = 1 + random() % 4; at < many; ++at) {
      mesh.dimensions.push_back({"dim" + std::string(1, static_cast<char>('a' + at)),
                                 2 + static_cast<std::int32_t>(random() % 4), random() % 4 == 0});
    }
    mesh.odd = static_cast<std::int32_t>(random()) & 0x7fffffff;
    mesh.odd %= mesh.ranks();
    const ShownRows rows = in_order(shown_rows(tests::mesh_job(mesh).capture));
    mesh.rank_at = permuted_ranks(mesh.ranks(), seed);
    mesh.group_name = [seed](const std::string& label, std::int32_t first) {
      return std::to_string(std::hash<std::string>()(label) % 1000 * seed) + "x" +
             std::to_string(first * 7);
    };
    INFO("seed " << seed << ", " << mesh.ranks() << " ranks");
    CHECK(in_order(shown_rows(tests::mesh_job(mesh).capture)) == rows);
  }
}

TEST_CASE("fold: without labels, groups with the same distances between members are alike") {
  Mesh mesh = tests::three_dimensions(4, 4, 8);
  mesh.labelled = false;
  mesh.group_name = [](const std::string& label, std::int32_t first) {
    return std::to_string(first * 3 + static_cast<std::int32_t>(label.front()));
  };
  const ShownRows rows = shown_rows(tests::mesh_job(mesh).capture);
  CHECK(rows[4] == "31 groups, 93 ranks: all_reduce in group * (31 groups of 4), #4711");
}

TEST_CASE("fold: a group that differs in anything else is not folded") {
  const Mesh mesh = two_dimensions();
  CHECK(first_fold(tests::mesh_job(mesh).capture) == std::vector<std::size_t>{15, 4});
  auto job = tests::mesh_job(mesh);
  auto& tables = job.capture.tables;
  SECTION("the operation") {
    change_calls(job, "dp#9", [&](auto& thread) { thread.call->op = tables.string("broadcast"); });
  }
  SECTION("the label") {
    change_calls(job, "dp#9", [&](auto& thread) { thread.call->label = tables.string("ep"); });
  }
  SECTION("the root's place") {
    change_calls(job, "dp#9", [&](auto& thread) { thread.call->root = 9; });
  }
  SECTION("the size") {
    change_calls(job, "dp#9",
                 [&](auto& thread) { thread.call->members = tables.string("9,25,30"); });
  }
  SECTION("the state") {
    job.process(3000 + 25).threads.front().samples.edit_back().state = 'T';
  }
  SECTION("the frames") {
    auto& here = job.process(3000 + 25).threads.front();
    const auto& other = job.process(3000 + 3).threads.front();  // the loader's
    for (std::size_t at = 0; at < here.samples.size(); ++at) {
      here.samples.edit(at).stack = other.samples.back().stack;
      here.samples.edit(at).python_stack = other.samples.back().python_stack;
    }
  }
  CHECK(first_fold(job.capture) == std::vector<std::size_t>{14, 5});
}

TEST_CASE("fold: other numbers of calls in other groups are folded, in one group they are not") {
  Mesh mesh;
  mesh.dimensions = {{"dp", 2}, {"cp", 8}, {"tp", 4}};
  mesh.odd = 3;
  auto job = tests::mesh_job(mesh);
  change_calls(job, "dp#9", [](auto& thread) { thread.call->sequence = 4700; });
  const ShownRows rows = shown_rows(job.capture);
  CHECK(std::ranges::count(
            rows, "31 groups, 31 ranks: all_reduce in group dp#* (31 groups of 2), #4700-4711") ==
        1);
}

TEST_CASE("fold: parts of one process group are apart") {
  Mesh mesh;
  mesh.dimensions = {{"dp", 3}, {"tp", 16}};
  mesh.odd = 3;
  auto job = tests::mesh_job(mesh);
  // Each of the two that wait in dp#9 is at another call: like no other group, and unlike each
  // other.
  job.process(3000 + 25).threads.front().call->sequence = 4710;
  const Diagnosis report = diagnose(job.capture);
  std::size_t apart = 0;
  for (const ShownGroup& row : report.shown) {
    const auto& ranks = report.group_of(row).ranks;
    apart += !row.is_folded() && (ranks == std::vector{25} || ranks == std::vector{41}) ? 1U : 0U;
  }
  CHECK(apart == 2);
}

TEST_CASE("fold: few groups, and ranks in code of their own, are shown as they are") {
  Mesh mesh = two_dimensions();
  mesh.dimensions[1].size = 4;  // three groups of dp beside the odd rank's
  CHECK(first_fold(tests::mesh_job(mesh).capture).front() == 0);
  CHECK(first_fold(tests::input_stall_job().capture).front() == 0);
  CHECK(first_fold(tests::unknown_job().capture).front() == 0);
}

namespace {

std::map<Role, std::vector<std::size_t>> ranks_by_role(const snapshot::Capture& capture) {
  FrameModel model(capture.tables);
  const JobView view(capture, model);
  const auto roles = roles_of(view, build_wait_graph(view), diagnose(view).verdict);
  std::map<Role, std::vector<std::size_t>> ranks;
  for (std::size_t at = 0; at < roles.size(); ++at) {
    ranks[roles[at]].push_back(at);
  }
  return ranks;
}

using RoleRanks = std::vector<std::size_t>;

}  // namespace

TEST_CASE("roles: the root, those that wait for it, and those that wait for these") {
  auto ranks = ranks_by_role(tests::mesh_job(tests::three_dimensions(2, 2, 2)).capture);
  CHECK(ranks[Role::kRoot] == RoleRanks{2});
  CHECK(ranks[Role::kDirect] == RoleRanks{0, 3, 6});
  CHECK(ranks[Role::kIndirect] == RoleRanks{1, 4, 5, 7});
  CHECK(ranks[Role::kElsewhere].empty());
}

TEST_CASE("roles: a rank without waits is elsewhere, and so are all if nobody is named") {
  auto job = tests::input_stall_job();
  tests::replace(job, 1, tests::training_on());
  CHECK(ranks_by_role(job.capture)[Role::kElsewhere].size() <= 1);
  CHECK(ranks_by_role(tests::below_host_job().capture)[Role::kElsewhere].size() == 8);
}

}  // namespace oddrank::aggregate
