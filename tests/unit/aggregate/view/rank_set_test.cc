#include "aggregate/view/rank_set.h"

#include "tests/support/catch.h"

namespace oddrank::aggregate {

TEST_CASE("ranks are written as ranges") {
  CHECK(format_ranks({}).empty());
  CHECK(format_ranks({5}) == "5");
  CHECK(format_ranks({7, 6, 0, 1, 2, 3, 4, 4}) == "0-4,6-7");
  CHECK(format_ranks({3, 4}) == "3-4");
  CHECK(format_ranks({1, 3, 5}) == "1,3,5");
  CHECK(format_ranks({-1, 2}) == "2");
}

TEST_CASE("ranks are cut at a comma") {
  CHECK(format_ranks_within({0, 2, 4, 6, 8}, 40) == "0,2,4,6,8");
  CHECK(format_ranks_within({0, 2, 4, 6, 8, 10, 12}, 10) == "0,2,4,...");
  CHECK(format_ranks_within({100000}, 3) == "...");
}

TEST_CASE("ranks in a sentence are one or several, and cut") {
  CHECK(ranks_phrase({5}) == "rank 5");
  CHECK(ranks_phrase({5, 6}) == "ranks 5-6");
  std::vector<std::int32_t> even;
  for (std::int32_t rank = 100; rank < 200; rank += 2) {
    even.push_back(rank);
  }
  CHECK(ranks_in_short({5}) == "rank 5");
  CHECK(ranks_in_short(even).size() <= 66);
}

}  // namespace oddrank::aggregate
