#include "base/shell_words.h"

#include <string>

#include "base/programs/run_command.h"
#include "tests/support/catch.h"

namespace oddrank {

TEST_CASE("a plain word stays as it is, any other is quoted") {
  CHECK(shell_quoted("/data/shard-7.tar") == "/data/shard-7.tar");
  CHECK(shell_quoted("gpu07.cluster:29500") == "gpu07.cluster:29500");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == R"('it'\''s')");
  for (const char* word :
       {"$(touch x)", "`touch x`", "a;b", "a|b", "a&b", "a>b", "a\nb", "~ann", "*", "a\\b", "!x",
        "#x", "{a,b}", "a=b", "caf\xc3\xa9", "\xe2\x80\xa8"}) {
    INFO(word);
    CHECK(shell_quoted(word) == "'" + std::string(word) + "'");
  }
}

TEST_CASE("a shell gives the word back") {
  for (const char* word :
       {"$(echo x)", "`echo x`", "a;echo b", "it's a 'b'", "a\nb", "*", "\\", ""}) {
    ProgramCall call;
    call.argv = {"/bin/sh", "-c", "printf %s " + shell_quoted(word)};
    const auto result = run_command(call, Deadline::after(std::chrono::seconds(20)));
    REQUIRE(result);
    CHECK(result->out == word);
  }
}

TEST_CASE("a command is split as a shell splits it, and not expanded") {
  for (const char* text : {"ssh -J bastion n0", "  a\tb\n", "a 'b c' \"d  e\"f",
                           "a\\ b '\\' \"\\\"\\\\x\\y\"", "'' \"\"", "it\\'s", ""}) {
    ProgramCall call;
    call.argv = {"/bin/sh", "-c",
                 std::string("for word in ") + text + "\ndo printf '%s\\n' \"$word\"; done"};
    const auto result = run_command(call, Deadline::after(std::chrono::seconds(20)));
    REQUIRE(result);
    const auto words = split_as_shell(text);
    REQUIRE(words);
    std::string lines;
    for (const std::string& word : *words) {
      lines += word + "\n";
    }
    INFO(text);
    CHECK(lines == result->out);
  }
  const auto plain = split_as_shell("$HOME * a;b `id` end\\");
  REQUIRE(plain);
  CHECK(*plain == std::vector<std::string>{"$HOME", "*", "a;b", "`id`", "end\\"});
  const auto open = split_as_shell("ssh 'n0");
  REQUIRE_FALSE(open);
  CHECK(open.error().code == Errc::kUsage);
  CHECK(open.error().what == "a quote is not closed: ssh 'n0");
}

}  // namespace oddrank
