#include "reach/wire/answers.h"

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

// One node for each letter: "a" has answered, "r" reads, "y" has given a reason, "-" is not
// started.
std::string waiting_for(const std::string& stages) {
  std::vector<NodeAnswer> nodes;
  for (const char stage : stages) {
    NodeAnswer& node = nodes.emplace_back();
    node.host = "n" + std::to_string(nodes.size() - 1);
    node.answered = stage == 'a';
    node.heard = stage != '-';
    node.doing = stage == 'y' ? "waits are young" : "";
  }
  return progress_of(nodes).waiting_for;
}

TEST_CASE("the slowest three nodes are named, each with what it waits for") {
  CHECK(waiting_for("ar-") == "n2 (not started), n1 (reading)");
  CHECK(waiting_for("ayr") == "n2 (reading), n1 (waits are young)");
  CHECK(waiting_for("arrr---r") ==
        "n4 (not started), n5 (not started), n6 (not started) and 4 more");
  CHECK(waiting_for("aa").empty());
}

TEST_CASE("before the first answer, only nodes that start late are named") {
  CHECK(waiting_for("----").empty());
  CHECK(waiting_for("r---").empty());
  CHECK(waiting_for("rr-y") == "n2 (not started)");
  CHECK(waiting_for("rryy").empty());
}

}  // namespace
}  // namespace oddrank::reach
