#include "snapshot/rank_text.h"

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

using Ranks = std::vector<std::int32_t>;

TEST_CASE("lists of ranks keep their order") {
  for (const Ranks& ranks : {Ranks{}, Ranks{3}, Ranks{4, 5, 6, 7, 0}, Ranks{2, 1, 0}, Ranks{0, 8},
                             Ranks{3, 11, 19, 20, 21, 5}, Ranks{0, 2, 3, 4}, Ranks{0, 1, 3, 5, 7},
                             Ranks{7, 7, 7}, Ranks{0, 2147483646}}) {
    CHECK(ranks_of(rank_text(ranks)) == ranks);
  }
  CHECK(rank_text(Ranks{4, 5, 6, 7, 0}) == "4-7,0");
  CHECK(rank_text(Ranks{1, 9, 17, 18}) == "1-17/8,18");
  CHECK(rank_text(Ranks{0, 2, 3, 4}) == "0,2-4");
  CHECK(rank_text(Ranks{1, 9, 17}, RankSteps::kOne) == "1,9,17");
  CHECK(ranks_of("1-20/8") == Ranks{1, 9, 17});
  CHECK(rank_text(Ranks{2147483646, 2147483647}) == "2147483646-2147483647");
}

TEST_CASE("text that is no list of ranks, or too long, is empty") {
  for (const char* text : {"x", "3-1", "-1", "1-", "0-99999999999", "0-2000000", ",", "0-8/0",
                           "0-8/", "1/2", "0-8/-2"}) {
    INFO(text);
    CHECK(ranks_of(text).empty());
  }
  CHECK(ranks_of("0-4", 4).empty());
  CHECK(ranks_of("0-3", 4).size() == 4);
  CHECK(ranks_of("0-24/8", 4).size() == 4);
  CHECK(ranks_of("0-32/8", 4).empty());
}

}  // namespace
}  // namespace oddrank::snapshot
