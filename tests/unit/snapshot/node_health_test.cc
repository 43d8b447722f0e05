#include "snapshot/node_health.h"

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

TEST_CASE("a node's health travels as bytes") {
  NodeHealth node;
  node.version = "0.1.0";
  node.checks = {{"access", Answer::kNo, "Yama lets nobody read", "ask the administrator"}};
  node.checks.push_back({"recorder", Answer::kOff, "", "export a variable"});
  const auto again = decode_health(encode_health(node));
  REQUIRE(again);
  CHECK(again->reached);
  CHECK(again->version == "0.1.0");
  REQUIRE(again->checks.size() == 2);
  CHECK(again->checks[0].answer == Answer::kNo);
  CHECK(again->checks[0].remedy == "ask the administrator");
  CHECK(again->checks[1].answer == Answer::kOff);
}

TEST_CASE("text that is no answer of doctor is refused") {
  for (const char* bytes : {"", "[]", "{}", "{\"checks\": 1}", "\xff\xfe", "{\"checks\": [1"}) {
    const auto health = decode_health(bytes);
    REQUIRE_FALSE(health);
    CHECK(health.error().code == Errc::kBadData);
  }
  const auto odd = decode_health(R"({"checks": [1, {"name": "x", "answer": "maybe"}]})");
  REQUIRE(odd);
  CHECK(odd->checks.empty());
}

}  // namespace
}  // namespace oddrank::snapshot
