#include "aggregate/solver/cause_sets.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace oddrank::aggregate {
namespace {

using Causes = std::vector<CauseId>;

CauseSetId set_of(CauseSets& sets, const Causes& causes) {
  CauseSetId set = CauseSets::kNone;
  for (const CauseId cause : causes) {
    set = sets.unite(set, sets.only(cause));
  }
  return set;
}

}  // namespace

TEST_CASE("a set of causes is kept once, however it came about") {
  CauseSets sets;
  CHECK(sets.only(7) == sets.only(7));
  CHECK(sets.only(7) != sets.only(8));
  const CauseSetId both = set_of(sets, {7, 3});
  CHECK(sets.of(both) == Causes{3, 7});
  CHECK(set_of(sets, {3, 7, 3}) == both);
  const std::size_t size = sets.size();
  set_of(sets, {7, 3});
  CHECK(sets.size() == size);
}

TEST_CASE("a union has what is in one of the sets") {
  CauseSets sets;
  const CauseSetId a = set_of(sets, {1, 2});
  const CauseSetId b = set_of(sets, {2, 3});
  CHECK(sets.of(sets.unite(a, b)) == Causes{1, 2, 3});
  CHECK(sets.unite(a, b) == sets.unite(b, a));
  CHECK(sets.unite(a, a) == a);
  CHECK(sets.unite(a, CauseSets::kNone) == a);
  CHECK(sets.unite(CauseSets::kNone, a) == a);
  CHECK(sets.unite(a, CauseSets::kEvery) == CauseSets::kEvery);
  CHECK(sets.unite(CauseSets::kEvery, a) == CauseSets::kEvery);
}

TEST_CASE("sets have in common what is in both") {
  CauseSets sets;
  const CauseSetId a = set_of(sets, {1, 2, 4});
  const CauseSetId b = set_of(sets, {2, 3, 4});
  CHECK(sets.of(sets.common(a, b)) == Causes{2, 4});
  CHECK(sets.common(a, set_of(sets, {3, 5})) == CauseSets::kNone);
  CHECK(sets.common(a, a) == a);
  CHECK(sets.common(a, CauseSets::kNone) == CauseSets::kNone);
  CHECK(sets.common(CauseSets::kNone, a) == CauseSets::kNone);
  CHECK(sets.common(a, CauseSets::kEvery) == a);
  CHECK(sets.common(CauseSets::kEvery, a) == a);
}

TEST_CASE("a set has its causes and no others") {
  CauseSets sets;
  const CauseSetId set = set_of(sets, {2, 9});
  CHECK(sets.has(set, 2));
  CHECK(sets.has(set, 9));
  CHECK_FALSE(sets.has(set, 3));
  CHECK_FALSE(sets.has(CauseSets::kNone, 0));
}

TEST_CASE("many sets are united without keeping a set for each on the way") {
  constexpr CauseId kSets = 20'000;
  CauseSets sets;
  std::vector<CauseSetId> parts = {CauseSets::kNone};
  for (CauseId cause = kSets; cause-- > 0;) {
    parts.push_back(sets.only(cause));
    parts.push_back(parts.back());
  }
  const CauseSetId all = sets.unite(parts);
  REQUIRE(sets.of(all).size() == kSets);
  CHECK(std::is_sorted(sets.of(all).begin(), sets.of(all).end()));
  CHECK(sets.of(all).back() == kSets - 1);

  parts = {};
  CHECK(sets.unite(parts) == CauseSets::kNone);
  parts = {all, CauseSets::kEvery, sets.only(1)};
  CHECK(sets.unite(parts) == CauseSets::kEvery);
}

TEST_CASE("sets that have grown beyond measure say less, and grow no more") {
  CauseSets sets(100);
  CauseSetId grown = CauseSets::kNone;
  for (CauseId cause = 0; cause < 100; ++cause) {
    grown = sets.unite(grown, sets.only(cause));
  }
  CHECK(sets.of(grown).size() > 5);
  CHECK(sets.of(grown).size() < 50);
  const CauseSetId other = sets.only(99);
  const std::size_t size = sets.size();
  const CauseSetId part = sets.unite(grown, other);
  CHECK((part == grown || part == other));
  CHECK(sets.common(grown, sets.only(1)) == CauseSets::kNone);
  CHECK(sets.common(grown, grown) == grown);
  CHECK(sets.size() == size);
}

}  // namespace oddrank::aggregate
