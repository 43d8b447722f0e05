#include "aggregate/evidence/store_keys.h"

#include <random>
#include <string>
#include <vector>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

constexpr std::int32_t kOfStore = 5;

// Returns the rank (index) that has to set the key; -1: none.
int owner(const std::vector<std::string>& set, const std::string& asked) {
  tests::CaptureBuilder job({"n0"}, kOfStore);
  for (std::int32_t rank = 0; rank < kOfStore; ++rank) {
    job.rank(rank, "n0", 100 + rank);
  }
  for (const std::string& key : set) {
    job.capture.processes[0].store.push_back({job.capture.tables.string(key), 0});
  }
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  const auto found = StoreKeys(view).owner_of(asked);
  return found ? static_cast<int>(found->rank) : -1;
}

// The keys of a family, but for some of its numbers.
std::vector<std::string> family(const std::string& before,
                                const std::string& after,
                                const std::vector<int>& numbers) {
  std::vector<std::string> keys;
  for (const int number : numbers) {
    keys.push_back(before + std::to_string(number) + after);
  }
  return keys;
}

TEST_CASE("store keys: the rank whose key alone is missing, in families of any form") {
  std::mt19937 random(7);
  const std::vector<std::string> befores = {"ready/", "run-7/w", "a.b.", "job42/phase/3/rank_", ""};
  const std::vector<std::string> afters = {"", "/addr", ".done", "-0x"};
  for (int i = 0; i < 400; ++i) {
    const std::string before = befores[random() % befores.size()];
    const std::string after = afters[random() % afters.size()];
    const int missing = static_cast<int>(random() % (kOfStore - 1));
    std::vector<int> others;
    for (int rank = 0; rank < kOfStore; ++rank) {
      if (rank != missing) {
        others.push_back(rank);
      }
    }
    const std::string prefix = random() % 2 == 0 ? "" : "default_pg/0//";
    auto keys = family(prefix + before, after, others);
    keys.push_back("epoch/9");
    keys.push_back(prefix + before + "x" + after);
    INFO(prefix << before << missing << after);
    CHECK(owner(keys, before + std::to_string(missing) + after) == missing);
    CHECK(owner(keys, "other/" + std::to_string(missing)) == -1);
    CHECK(owner(keys, before + std::to_string(others.front()) + after) == -1);  // it is set
  }
}

TEST_CASE("store keys: numbers that are no ranks' are nobody's") {
  CHECK(owner(family("epoch/", "", {0, 1, 2}), "epoch/3") == -1);      // the next one of a count
  CHECK(owner(family("step/", "", {0, 1, 3, 4, 5}), "step/2") == -1);  // there is no rank 5
  CHECK(owner(family("step/", "", {4}), "step/2") == -1);              // few have theirs
  CHECK(owner(family("w", "", {0, 1, 3, 4}), "x2") == -1);
  CHECK(owner({}, "w2") == -1);
  // A key of another form is another key.
  CHECK(owner({"w/0", "w/1", "w/02", "w/3", "w/4"}, "w/2") == 2);
  CHECK(owner({"w/00", "w/01", "w/2", "w/03", "w/04"}, "w/02") == 2);
  // Another run's, and this one's: the latter has too few.
  auto keys = family("run1/w", "", {0, 1, 2, 3, 4});
  keys.push_back("run2/w4");
  CHECK(owner(keys, "run2/w2") == -1);
  // Either number may be the rank's.
  keys = family("2/", "", {0, 1, 4});
  for (const std::string& key : family("", "/3", {0, 1, 4})) {
    keys.push_back(key);
  }
  CHECK(owner(keys, "2/3") == -1);
}

TEST_CASE("store keys: of several keys, the one that is missing") {
  CHECK(owner(family("w/", "", {0, 2, 3, 4}), "w/0, w/1, w/2") == 1);
  CHECK(owner(family("w/", "", {0, 3, 4}), "w/1, w/2") == -1);  // two ranks are to
}

}  // namespace
}  // namespace oddrank::aggregate
