#include "cli/options.h"

#include <string>
#include <vector>

#include "cli/parser.h"
#include "tests/support/catch.h"
#include "tests/unit/cli/typed.h"

namespace oddrank::cli {
namespace {

NodeCapture captured_by(std::vector<std::string> words) {
  Parser parser("", "", [] { return std::string(); });
  Command command = parser.command("agent", "");
  NodeCapture capture;
  add_capture_options(command, capture);
  add_locals_options(command, capture);
  command.runs([] { return 0; });
  words.insert(words.begin(), "agent");
  test::Typed typed(words);
  REQUIRE(parser.parse(typed.count(), typed.words()).action);
  return capture;
}

bool is_same(const NodeCapture& a, const NodeCapture& b) {
  return a.until_decided == b.until_decided && a.samples == b.samples && a.interval == b.interval &&
         a.timeout == b.timeout && a.ras == b.ras && a.fr == b.fr && a.inlines == b.inlines &&
         a.read.native == b.read.native && a.read.python == b.read.python &&
         a.read.stop == b.read.stop && a.read.tasks == b.read.tasks &&
         a.read.newest_calls == b.read.newest_calls && a.read.locals == b.read.locals &&
         a.read.contents.depth == b.read.contents.depth &&
         a.read.contents.addresses == b.read.contents.addresses;
}

TEST_CASE("options: an agent gets each capture option that the user gave, and no other") {
  const NodeCapture usual = captured_by({});
  CHECK(usual.given.empty());
  const std::vector<std::vector<std::string>> all = {
      {"--timeout", "2m"},  {"--samples", "4"},
      {"--interval=1s"},    {"--no-native"},
      {"--no-python"},      {"--never-stop"},
      {"--locals"},         {"--locals=4"},
      {"--addresses"},      {"--tasks"},
      {"--inlines"},        {"--no-ras"},
      {"--fr-memory", "0"}, {"--fr", "a b", "--fr", "true"}};
  std::vector<std::string> together;
  for (const std::vector<std::string>& words : all) {
    INFO(words.front());
    const NodeCapture given = captured_by(words);
    CHECK_FALSE(given.given.empty());
    CHECK_FALSE(is_same(given, usual));
    CHECK(is_same(captured_by(given.given), given));
    if (words.front() != "--locals") {
      together.insert(together.end(), words.begin(), words.end());
    }
  }
  const NodeCapture given = captured_by(together);
  CHECK(given.fr == std::vector<std::string>{"a b", "true"});
  CHECK(is_same(captured_by(given.given), given));
}

}  // namespace
}  // namespace oddrank::cli
