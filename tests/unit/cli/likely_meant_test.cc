#include "cli/likely_meant.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/cli/typed.h"

namespace oddrank::cli {
namespace {

const std::vector<std::string> kKnown = {"--json",   "--save", "--html",
                                         "--folded", "--fr",   "--fr-memory"};

std::string hint_for(const std::vector<std::string>& words) {
  test::Typed typed(words);
  const auto mistake = find_mistake(
      {typed.words() + 1, static_cast<std::size_t>(typed.count() - 1)}, {kKnown, {"--box"}});
  return mistake ? mistake->hint : "none";
}

TEST_CASE("likely meant: one or two slips, or the beginning of one option only") {
  CHECK(nearest_word("--jsn", kKnown) == "--json");
  CHECK(nearest_word("--josn", kKnown) == "--json");
  CHECK(nearest_word("--fo", kKnown).empty());  // as near to --fr
  CHECK(nearest_word("--fold", kKnown) == "--folded");
  CHECK(nearest_word("--verbatim", kKnown).empty());
  CHECK(nearest_word(std::string(100000, '-'), kKnown).empty());
}

TEST_CASE("likely meant: an option that does not exist, a pid as other tools want it") {
  CHECK(hint_for({"node", "--jsn", "-"}) == "did you mean --json?");
  CHECK(hint_for({"node", "--jsn=x"}) == "did you mean --json?");
  CHECK(hint_for({"node", "--box", "x"}) == "none");
  CHECK(hint_for({"node", "--", "--jsn"}) == "none");
  CHECK(hint_for({"-p", "31"}) == "a pid stands alone: oddrank node 31");
  CHECK(hint_for({"-p31"}) == "a pid stands alone: oddrank node 31");
  CHECK(hint_for({"--pid=31"}) == "a pid stands alone: oddrank node 31");
  CHECK(hint_for({"-p"}) == "a pid stands alone: oddrank node PID");
  CHECK(hint_for_number("x").empty());
  CHECK(hint_for_number("0").empty());
  CHECK_FALSE(hint_for_number("4711").empty());
}

}  // namespace
}  // namespace oddrank::cli
