#include "attach/proc_environ.h"

#include <string>

#include "tests/support/catch.h"

using oddrank::attach::Environment;
using oddrank::attach::parse_proc_environ;

namespace {

// A literal with NULs in it, whole.
template <std::size_t Size>
std::string block(const char (&text)[Size]) {
  return {text, Size - 1};
}

}  // namespace

TEST_CASE("only the known names of an environment are kept") {
  const Environment environment = parse_proc_environ(
      block("PATH=/bin\0RANK=3\0WANDB_API_KEY=hunter2\0WORLD_SIZE=8\0MASTER_ADDR=n0\0RANKS=1\0"));
  CHECK(environment.entries().size() == 3);
  CHECK(environment.get("RANK") == "3");
  CHECK(environment.get("WORLD_SIZE") == "8");
  CHECK(environment.get("MASTER_ADDR") == "n0");
  CHECK_FALSE(environment.has("WANDB_API_KEY"));
  CHECK_FALSE(environment.has("PATH"));
}

TEST_CASE("if a name is set twice the first value counts, as for getenv") {
  const Environment environment = parse_proc_environ(block("RANK=3\0RANK=4\0"));
  CHECK(environment.get("RANK") == "3");
  CHECK(environment.entries().size() == 1);
}

TEST_CASE("odd environments") {
  CHECK(parse_proc_environ("").entries().empty());
  CHECK(parse_proc_environ(block("\0\0\0")).entries().empty());
  CHECK(parse_proc_environ("RANK").entries().empty());
  CHECK(parse_proc_environ("=3").entries().empty());
  CHECK(parse_proc_environ("RANK=1").get("RANK") == "1");
  CHECK_FALSE(parse_proc_environ("RANK=").has("RANK"));
  CHECK(parse_proc_environ("MASTER_ADDR=a=b").get("MASTER_ADDR") == "a=b");
  CHECK(parse_proc_environ("MASTER_ADDR=a\nb\x1b[2J").get("MASTER_ADDR") == "a?b?[2J");
  CHECK(parse_proc_environ("MASTER_ADDR=" + std::string(100000, 'x')).get("MASTER_ADDR").size() ==
        512);
}

TEST_CASE("no kept name is a secret's") {
  for (const auto name : oddrank::attach::kept_variables()) {
    INFO(name);
    CHECK_FALSE(name.empty());
    for (const char* secret : {"KEY", "TOKEN", "SECRET", "PASS"}) {
      CHECK(name.find(secret) == std::string_view::npos);
    }
  }
}
