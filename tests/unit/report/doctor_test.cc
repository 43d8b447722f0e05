#include "report/doctor.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::report {
namespace {

using snapshot::Answer;
using snapshot::Check;
using snapshot::NodeHealth;

NodeHealth node_with(std::string host, Check check) {
  NodeHealth node;
  node.host = std::move(host);
  node.reached = true;
  node.version = "0.1.0";
  node.after = std::chrono::milliseconds(120);
  node.checks = {std::move(check)};
  return node;
}

NodeHealth silent(std::string host) {
  NodeHealth node;
  node.host = std::move(host);
  node.why = "node did not answer in 20 s";
  return node;
}

const Check kGood{"access", Answer::kYes, "", ""};
const Check kBad{"access", Answer::kNo, "Yama lets nobody read", "ask the administrator"};

TEST_CASE("the worst node comes first, with its remedy below") {
  std::vector<NodeHealth> nodes{node_with("n0", kGood), node_with("n1", kBad), silent("n2")};
  sort_worst_first(nodes);
  CHECK(nodes[0].host == "n2");
  CHECK(nodes[1].host == "n1");
  const std::string text = doctor_text(nodes, {});
  CHECK(text.find("1 of 3 nodes ready") == 0);
  CHECK(text.find("n2") < text.find("n1"));
  CHECK(text.find("did not answer in 20 s") != std::string::npos);
  CHECK(text.find("n1 access: ask the administrator") != std::string::npos);
  CHECK(text.find("\x1b[") == std::string::npos);
}

TEST_CASE("many nodes that are alike share a line") {
  std::vector<NodeHealth> nodes;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back(node_with("n" + std::to_string(i), i == 7 ? kBad : kGood));
  }
  sort_worst_first(nodes);
  const std::string text = doctor_text(nodes, {});
  CHECK(text.find("n[0-6,8-99]") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') < 10);
}

TEST_CASE("as JSON each node has its row") {
  CHECK(doctor_json({node_with("n0", kBad), silent("n1")}) == R"({
  "nodes": [
    {
      "host": "n0",
      "reached": true,
      "ready": false,
      "why": null,
      "after_ms": 120,
      "version": "0.1.0",
      "checks": [
        {
          "name": "access",
          "answer": "no",
          "detail": "Yama lets nobody read",
          "remedy": "ask the administrator"
        }
      ]
    },
    {
      "host": "n1",
      "reached": false,
      "ready": false,
      "why": "node did not answer in 20 s",
      "after_ms": 0,
      "version": "",
      "checks": []
    }
  ]
}
)");
}

}  // namespace
}  // namespace oddrank::report
