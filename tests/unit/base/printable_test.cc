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

TEST_CASE("code points that are not seen do not change the text around them") {
  for (const char* unseen : {"\u202a", "\u202e", "\u2066", "\u2069", "\u2028", "\u2029", "\u061c",
                             "\u200b", "\u200e", "\u200f", "\u2060", "\ufeff", "\U000e0041"}) {
    INFO(std::string(unseen).size());
    CHECK(printable("a" + std::string(unseen) + "b").find(unseen) == std::string::npos);
    CHECK(printable_text("a\n" + std::string(unseen) + "b").find(unseen) == std::string::npos);
  }
  // Letters, marks and signs of any script stay, also joiners that some scripts need.
  for (const char* seen : {"\u00e9", "\u05d0", "\u0639", "\u4e2d", "\u2026", "\u200d", "\u2192",
                           "\U0001f600", "\ue000"}) {
    CHECK(printable(seen) == seen);
    CHECK(printable_text(seen) == seen);
  }
}

TEST_CASE("a whole output keeps its lines, and its colours only if they are wanted") {
  CHECK(printable_text("a\tb\nc\n") == "a\tb\nc\n");
  CHECK(printable_text("a\rb\x08\x07\x7f") == "a?b???");
  CHECK(printable_text("\x1b[1;31mred\x1b[0m", true) == "\x1b[1;31mred\x1b[0m");
  CHECK(printable_text("\x1b[1;31mred\x1b[0m") == "?[1;31mred?[0m");
  // No other escape sequence: these clear the screen, move, and set the title.
  for (const char* text :
       {"\x1b[2J", "\x1b[1;1H", "\x1b]0;title\x07", "\x1b[", "\x1b", "\x1b[31"}) {
    CHECK(printable_text(text, true).find('\x1b') == std::string::npos);
  }
  CHECK(printable_text(std::string(100000, 'x')).size() == 100000);
  CHECK(printable_text("\xff\xc3") == "??");
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

TEST_CASE("names are cut in the middle and keep their last part") {
  CHECK(cut_middle("Op.register.<locals>.inner", 26) == "Op.register.<locals>.inner");
  CHECK(cut_middle("Op.register.<locals>.inner.<locals>.backend_impl", 20) ==
        "Op.re...backend_impl");
  CHECK(cut_middle("Op.register.<locals>.inner.<locals>.schema", 20) == "Op.regist...>.schema");
  CHECK(cut_middle("a_single_name_without_parts", 13) == "...hout_parts");
  CHECK(cut_middle("\xc3\xa9\xc3\xa9.\xc3\xa9\xc3\xa9\xc3\xa9", 5) == "...\xc3\xa9\xc3\xa9");
}

TEST_CASE("lines are broken at blanks") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("averylongword x", 4) == std::vector<std::string>{"averylongword", "x"});
}

TEST_CASE("a count has its noun") {
  CHECK(count_of(1, "rank") == "1 rank");
  CHECK(count_of(0, "rank") == "0 ranks");
  CHECK(count_of(9, "entry") == "9 entries");
  CHECK(count_of(2, "day") == "2 days");
}

}  // namespace oddrank
