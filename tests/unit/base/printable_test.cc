#include "base/printable.h"

#include "tests/support/catch.h"

namespace oddrank {

TEST_CASE("escape sequences and broken UTF-8 do not reach a terminal") {
  CHECK(printable("plain") == "plain");
  CHECK(printable("\x1b[31mred\n") == "?[31mred?");
  CHECK(printable("\x7f\t") == "??");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("\xc3") == "?");
  CHECK(printable("\xff\xfe") == "??");
  CHECK(printable("\xc2\x9b"
                  "31m") == "??31m");         // C1: an escape sequence in one code point
  CHECK(printable("\xed\xa0\x80") == "???");  // a surrogate
  CHECK(printable("\xe0\x80\xaf") == "???");  // overlong
  CHECK(printable(std::string_view("a\0b", 3)) == "a?b");
}

TEST_CASE("text is limited without cutting a code point") {
  CHECK(printable("abcdef", 3) == "abc");
  CHECK(printable("ab\xc3\xa9", 3) == "ab");
}

TEST_CASE("columns count code points") {
  CHECK(columns("abc") == 3);
  CHECK(columns("caf\xc3\xa9") == 4);
}

TEST_CASE("text is cut at either end") {
  CHECK(cut_end("abcdef", 6) == "abcdef");
  CHECK(cut_end("abcdefg", 6) == "abc...");
  CHECK(cut_front("abcdefg", 6) == "...efg");
  CHECK(cut_end("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4) == "\xc3\xa9...");
  CHECK(cut_front("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4) == "...\xc3\xa9");
  CHECK(cut_end("abc", 0) == "...");
}

TEST_CASE("lines are broken at blanks") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("averylongword x", 4) == std::vector<std::string>{"averylongword", "x"});
}

TEST_CASE("a count has its noun") {
  CHECK(count_of(1, "rank") == "1 rank");
  CHECK(count_of(0, "rank") == "0 ranks");
}

}  // namespace oddrank
