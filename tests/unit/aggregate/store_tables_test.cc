#include "aggregate/store_tables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

std::vector<StoreTable> tables_of(tests::CaptureBuilder& job) {
  FrameModel model(job.capture.tables);
  return store_tables(JobView(job.capture, model));
}

std::vector<StoreTable> tables_of(tests::CaptureBuilder&& job) {
  return tables_of(job);
}

TEST_CASE("store tables: what clients wait for is in a note") {
  tests::CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 100);
  for (int i = 0; i < 5; ++i) {
    process.store.push_back({job.capture.tables.string("k" + std::to_string(i)), i < 2 ? 0U : 3U});
  }
  const auto notes = store_notes(tables_of(job));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "the store of the launcher of rank 0 has 2 keys; clients wait for k2 (3 clients), k3 (3 "
        "clients), k4 (3 clients)");
  process.store.push_back({job.capture.tables.string("item/7"), 1});
  CHECK(store_notes(tables_of(job))[0].ends_with(
      "wait for k2 (3 clients), item/7 (1 client), k3 (3 clients) and 1 more"));
}

// Four ranks, of which the given ones ask for a name, and the keys of rank 0's store.
tests::CaptureBuilder asking(const std::vector<std::int32_t>& ranks,
                             const std::string& name,
                             const std::vector<std::string>& set,
                             const std::vector<std::string>& awaited) {
  tests::CaptureBuilder job({"n0"}, 4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    auto& process = job.rank(rank, "n0", 100 + rank);
    auto& thread = job.thread(process, {.name = "python"});
    if (std::ranges::find(ranks, rank) != ranks.end()) {
      thread.wait.rare.edit().key = job.capture.tables.string(name);
    }
  }
  auto& store = job.capture.processes[0].store;
  for (const std::string& key : set) {
    store.push_back({job.capture.tables.string(key), 0});
  }
  for (const std::string& key : awaited) {
    store.push_back({job.capture.tables.string(key), 3});
  }
  return job;
}

TEST_CASE("store tables: who waits for which key, and who is to set it") {
  const auto tables =
      tables_of(asking({0, 1, 3}, "ready/2", {"run/ready/0", "run/ready/1", "run/ready/3"},
                       {"run/other", "run/ready/2"}));
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].set == 3);
  REQUIRE(tables[0].awaited.size() == 2);
  CHECK(tables[0].awaited[0].key == "run/other");
  CHECK(tables[0].awaited[0].waiters.empty());
  CHECK(!tables[0].awaited[0].owner);
  CHECK(tables[0].awaited[1].waiters == std::vector<std::int32_t>{0, 1, 3});
  CHECK(tables[0].awaited[1].owner == 2);
  CHECK(store_notes(tables)[0].ends_with("run/ready/2 (3 clients: ranks 0-1,3)"));
}

TEST_CASE("store tables: a name that two keys may have tells no waiters") {
  const auto tables = tables_of(asking({1}, "ready", {}, {"pg0/ready", "pg1/ready"}));
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].awaited[0].waiters.empty());
  CHECK(tables[0].awaited[1].waiters.empty());
}

TEST_CASE("store tables: a rank that asks for several keys waits for each") {
  const auto tables = tables_of(asking({1}, "a, p/b, c, d, ...", {}, {"a", "x/p/b"}));
  CHECK(tables[0].awaited[0].waiters == std::vector<std::int32_t>{1});
  CHECK(tables[0].awaited[1].waiters == std::vector<std::int32_t>{1});
}

TEST_CASE("store tables: a store at which nobody waits is not one of them, and long ones are cut") {
  CHECK(tables_of(asking({1}, "a", {"a", "b"}, {})).empty());
  std::vector<std::string> many;
  for (std::size_t i = 0; i < kMaxShownKeys + 7; ++i) {
    many.push_back("k" + std::to_string(i));
  }
  const auto tables = tables_of(asking({}, "", {}, many));
  CHECK(tables[0].awaited.size() == kMaxShownKeys);
  CHECK(tables[0].more == 7);
  CHECK(store_notes(tables)[0].ends_with("and 68 more"));
}

}  // namespace
}  // namespace oddrank::aggregate
