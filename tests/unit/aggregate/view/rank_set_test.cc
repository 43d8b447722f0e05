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

TEST_CASE("ranges are read back") {
  CHECK(*parse_ranks("0-4,6-7") == std::vector<std::int32_t>{0, 1, 2, 3, 4, 6, 7});
  CHECK(*parse_ranks("3,1,3") == std::vector<std::int32_t>{1, 3});
  CHECK(parse_ranks("")->empty());
}

TEST_CASE("text that is no set of ranks is refused") {
  for (const char* text :
       {"x", "4-", "-4", "5-3", "1,,2", "1-2-3", "99999999999", "0-2147483647"}) {
    INFO(text);
    const auto ranks = parse_ranks(text);
    REQUIRE_FALSE(ranks);
    CHECK(ranks.error().code == Errc::kBadData);
  }
  CHECK_FALSE(parse_ranks("0-3", 3));
  CHECK(parse_ranks("0-2", 3));
}

}  // namespace oddrank::aggregate
