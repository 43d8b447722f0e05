// Replicas of one job, which number their ranks alike.
#include "ranks/replicas.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

using oddrank::snapshot::JobRole;
using oddrank::test::DiscoverOptions;
using oddrank::test::Node;
using oddrank::test::torch;

namespace {

const std::string kLighthouse = "TORCHFT_LIGHTHOUSE=http://127.0.0.1:29510";

std::string replicas(const Node& node, const DiscoverOptions& options = {}) {
  std::string text;
  for (const auto& row : node.decide(options).rows) {
    text += row.replica + "|";
  }
  return text;
}

// Two replicas of one rank each, without numbers, and their lighthouse.
Node two_alone() {
  Node node;
  node.add(50, 1, "bash", kLighthouse)
      .add(60, 50, "python /v/bin/torchft_lighthouse --bind 127.0.0.1:29510", kLighthouse)
      .says({})
      .add(100, 50, "python train.py", kLighthouse)
      .says({})
      .add(101, 100, "python train.py", kLighthouse)
      .forked()
      .says({})
      .add(110, 50, "python train.py", kLighthouse)
      .says({})
      .add(120, 50, "python count.py", kLighthouse);
  return node;
}

}  // namespace

TEST_CASE("replicas of one rank are ranks of one job, and the lighthouse a part of it") {
  const Node node = two_alone();
  CHECK(node.ranks() == "-1:60 0:100[101] 0:110");
  CHECK(node.jobs() ==
        "torchft 127.0.0.1:29510 | torchft 127.0.0.1:29510 | torchft 127.0.0.1:29510");
  CHECK(replicas(node) == "|pid 100|pid 100|pid 110|");
  CHECK(node.decide().rows.front().role == JobRole::kServer);
}

TEST_CASE("given replicas are ranks of one job, too") {
  DiscoverOptions options;
  options.pids = {60, 100, 110};
  CHECK(two_alone().ranks(options) == "-1:60 0:100[101] 0:110");
  CHECK(replicas(two_alone(), options) == "|pid 100|pid 100|pid 110|");
}

TEST_CASE("replicas of several ranks keep their numbers, and none is left out") {
  Node node;
  for (const int replica : {1, 2}) {
    for (const int rank : {0, 1}) {
      node.add(100 * replica + rank, 50, "python train.py",
               torch(rank, rank, 2, 2, 29500 + replica) + " " + kLighthouse);
    }
  }
  CHECK(node.ranks() == "0:100 0:200 1:101 1:201");
  CHECK(replicas(node) == "n0:29501|n0:29502|n0:29501|n0:29502|");
  CHECK(node.decide().expected.empty());
}

TEST_CASE("what meets at another lighthouse is another job") {
  Node node = two_alone();
  node.add(130, 50, "python train.py", "TORCHFT_LIGHTHOUSE=http://n7:29510/").says({});
  CHECK(node.ranks() == "-1:60 0:100[101] 0:110 0:130");
  CHECK(node.decide().rows.back().job == "torchft n7:29510");
}

TEST_CASE("one own address is another lighthouse in each network") {
  Node node;
  node.add(100, 50, "python train.py", kLighthouse).says({}).network(1);
  node.add(110, 51, "python train.py", kLighthouse).says({}).network(2);
  CHECK(node.jobs() ==
        "torchft 127.0.0.1:29510 in network 1 | torchft 127.0.0.1:29510 in network 2");
}

TEST_CASE("jobs without a lighthouse have no replicas") {
  Node node;
  node.add(100, 50, "python train.py", torch(0, 0, 2)).add(101, 50, "python", torch(1, 1, 2));
  CHECK(replicas(node) == "||");
}
