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

}  // namespace oddrank
