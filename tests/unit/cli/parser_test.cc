#include "cli/parser.h"

#include <chrono>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "tests/support/catch.h"
#include "tests/unit/cli/typed.h"

namespace oddrank::cli {
namespace {

using std::chrono::milliseconds;

struct Given {
  milliseconds time{};
  FileMode mode;
  int status = -1;
};

Given times_of(const std::vector<std::string>& words) {
  Parser parser("", "", [] { return std::string(); });
  Command command = parser.command("wait", "");
  Given given;
  command.option("--time", given.time);
  command.option("--mode", given.mode);
  command.runs([] { return 7; });
  test::Typed typed(words);
  const Parser::Parsed result = parser.parse(typed.count(), typed.words());
  given.status = result.action ? result.action() : result.status;
  return given;
}

TEST_CASE("parser: a time has a unit, or is in seconds") {
  CHECK(times_of({"wait", "--time", "500ms"}).time == milliseconds(500));
  CHECK(times_of({"wait", "--time", "20"}).time == milliseconds(20000));
  CHECK(times_of({"wait", "--time=2m"}).time == milliseconds(120000));
  CHECK(times_of({"wait", "--time", "1h"}).time == milliseconds(3600000));
  for (const char* bad : {"", "m", "-1s", "1.5s", "3 s", "1d", "99999999999h", "0x10"}) {
    INFO(bad);
    CHECK(times_of({"wait", "--time", bad}).status == kWrongUsage);
  }
}

TEST_CASE("parser: a mode is octal, and permissions only") {
  CHECK(times_of({"wait", "--mode", "640"}).mode.bits == 0640);
  for (const char* bad : {"", "8", "1777", "rw", "-1"}) {
    INFO(bad);
    CHECK(times_of({"wait", "--mode", bad}).status == kWrongUsage);
  }
}

TEST_CASE("parser: the chosen command runs, and a wrong one does not") {
  CHECK(times_of({"wait"}).status == 7);
  CHECK(times_of({"sleep"}).status == kWrongUsage);
  CHECK(times_of({}).status == kWrongUsage);
  CHECK(times_of({"wait", "--tyme", "1s"}).status == kWrongUsage);
  CHECK(times_of({"wait", "--help"}).status == kAllRead);
}

}  // namespace
}  // namespace oddrank::cli
