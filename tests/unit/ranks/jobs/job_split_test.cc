#include "ranks/jobs/job_split.h"

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

namespace oddrank {
namespace {

using test::Node;

std::string at(const std::string& host, int rank, int size = 2) {
  return "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(size) +
         " MASTER_ADDR=" + host + " MASTER_PORT=29500";
}

ranks::ReportedWorld of_group(int rank, int size, const std::string& address) {
  ranks::ReportedWorld told;
  told.by = ranks::ReportedBy::kGroup;
  told.rank = rank;
  told.world_size = size;
  told.address = address;
  return told;
}

}  // namespace

TEST_CASE("containers with networks of their own have the same address") {
  for (const char* host : {"127.0.0.1", "localhost", "::1"}) {
    Node node;
    node.add(50, 1, "sh").network(7).add(60, 1, "sh").network(8);
    node.add(100, 50, "python a.py", at(host, 0)).network(7);
    node.add(101, 50, "python a.py", at(host, 1)).network(7);
    node.add(200, 60, "python b.py", at(host, 0)).network(8);
    node.add(201, 60, "python b.py", at(host, 1)).network(8);
    node.add(102, 100, "python a.py", at(host, 0)).network(7);
    CHECK(node.ranks() == "0:100[102] 1:101 0:200 1:201");
    const std::string name = std::string(host) + ":29500 in network ";
    CHECK(node.jobs() == name + "7 | " + name + "7 | " + name + "8 | " + name + "8");
  }
}

TEST_CASE("what is left of two jobs at the machine's own address is not one job") {
  Node node;
  node.add(50, 1, "sh").network(7).add(60, 1, "sh").network(8);
  node.add(100, 50, "python a.py", at("127.0.0.1", 0)).network(7);
  node.add(201, 60, "python b.py", at("127.0.0.1", 1)).network(8);
  CHECK(node.jobs() == "127.0.0.1:29500 in network 7 | 127.0.0.1:29500 in network 8");
}

TEST_CASE("a name that resolves to another address in each network") {
  Node node;
  node.add(100, 1, "python a.py", at("master", 0)).network(7).says(of_group(0, 2, "master:29500"));
  node.add(101, 1, "python a.py", at("master", 1)).network(7).says(of_group(1, 2, "master:29500"));
  node.add(200, 1, "python b.py", at("master", 0)).network(8).says(of_group(0, 2, "master:29500"));
  CHECK(node.ranks() == "0:100 1:101 0:200");
}

TEST_CASE("a job whose ranks have a network each is one job") {
  Node node;
  node.add(50, 1, "sh").add(60, 1, "sh");
  node.add(100, 50, "python a.py", at("pod-0", 0)).network(7);
  node.add(200, 60, "python a.py", at("pod-0", 1)).network(8);
  CHECK(node.ranks() == "0:100 1:200");
  CHECK(node.jobs() == "pod-0:29500 | pod-0:29500");
}

TEST_CASE("a helper that was shut off from the network belongs to its rank") {
  Node node;
  node.add(50, 1, "sh").network(7);
  node.add(100, 50, "python a.py", at("127.0.0.1", 0)).network(7);
  node.add(101, 50, "python a.py", at("127.0.0.1", 1)).network(7);
  node.add(110, 100, "python untrusted.py", at("127.0.0.1", 0)).network(9);
  CHECK(node.ranks() == "0:100[110] 1:101");
  CHECK(node.jobs() == "127.0.0.1:29500 | 127.0.0.1:29500");
  // Its parent has ended.
  node.add(111, 1, "python untrusted.py", at("127.0.0.1", 1)).network(10);
  CHECK(node.ranks() == "0:100[110] 1:101[111]");
  CHECK(node.jobs() == "127.0.0.1:29500 | 127.0.0.1:29500");
}

TEST_CASE("a network that could not be read tells nothing") {
  Node node;
  node.add(50, 1, "sh");
  node.add(100, 50, "python a.py", at("127.0.0.1", 0)).network(7);
  node.add(101, 50, "python a.py", at("127.0.0.1", 1));
  CHECK(node.jobs() == "127.0.0.1:29500 | 127.0.0.1:29500");
}

TEST_CASE("what a rank has left behind has its variables, and is of its job") {
  Node node;
  const std::string store = "file:///tmp/meet";
  node.add(50, 1, "sh");
  node.add(100, 50, "python a.py", at("n0", 0)).says(of_group(0, 2, store));
  node.add(101, 50, "python a.py", at("n0", 1)).says(of_group(1, 2, store));
  SECTION("a program of the rank, which has lost its parent") {
    node.add(102, 50, "sleep 100", at("n0", 1));
    CHECK(node.jobs().find("file:") == std::string::npos);
  }
  SECTION("with other variables, it is of another job") {
    node.add(102, 50, "python b.py", at("n7", 1));
    CHECK(node.jobs().find("n7:29500") != std::string::npos);
  }
}

}  // namespace oddrank
