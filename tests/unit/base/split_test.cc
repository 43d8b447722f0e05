#include "base/split.h"

#include "base/parse_number.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

TEST_CASE("split keeps empty pieces, blanks do not count") {
  CHECK(split("a,b,,c", ',') == std::vector<std::string_view>{"a", "b", "", "c"});
  CHECK(split("", ',').empty());
  CHECK(split_blanks("  a\tb \n c ") == std::vector<std::string_view>{"a", "b", "c"});
  CHECK(split_blanks(" ").empty());
  CHECK(trim(" \t a b \n") == "a b");
  CHECK(trim("  ").empty());
}

TEST_CASE("a number is the whole text or nothing") {
  CHECK(parse_number<int>("12") == 12);
  CHECK(parse_number<int>("-12") == -12);
  CHECK_FALSE(parse_number<int>("12 "));
  CHECK_FALSE(parse_number<int>(""));
  CHECK_FALSE(parse_number<int>("99999999999"));
  CHECK(parse_number<unsigned long>("7fff", 16) == 0x7fff);
}

}  // namespace
}  // namespace oddrank
