#include "node/collect/recorder_variables.h"

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

TEST_CASE("what a child found of libraries arrives; broken lines do not") {
  const std::vector<RecorderVariables> sent = {
      {"00ff", true, {0x1000, 0xffffffffffffffff}, {0x2000}}, {"abcd", false, {}, {}}};
  const auto received = decode_variables("x\n" + encode_variables(sent) + "beef 2 10\n\nbeef");
  REQUIRE(received.size() == 2);
  CHECK(received[0].build_id == "00ff");
  CHECK(received[0].has_symbols);
  CHECK(received[0].addresses == sent[0].addresses);
  CHECK(received[0].registries == sent[0].registries);
  CHECK(received[1].build_id == "abcd");
  CHECK_FALSE(received[1].has_symbols);
  CHECK(received[1].addresses.empty());
}

}  // namespace
}  // namespace oddrank::node
