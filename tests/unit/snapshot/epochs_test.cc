// Captures sorted by the time they were taken.
#include "snapshot/epochs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

std::string name_of(const std::string& host, std::uint64_t read_us) {
  return "of " + host + " at " + std::to_string(read_us);
}

Capture look(const char* host, pid_t pid, std::int32_t rank, std::uint64_t read_us) {
  Capture capture;
  NodeCapture node;
  node.host = host;
  node.answered = true;
  capture.nodes.push_back(node);
  ProcessCapture process;
  process.pid = pid;
  process.owner = pid;
  process.is_rank = true;
  process.rank = rank;
  process.start_us = 7;
  process.read_us = read_us;
  process.read = ReadState::kFull;
  process.name = capture.tables.string(name_of(host, read_us));
  capture.processes.push_back(process);
  return capture;
}

struct Look {
  const char* host;
  pid_t pid;
  std::int32_t rank;
  std::uint64_t read_us;
};

// Checks that each process has the name that it was given.
void check_names(const Capture& capture) {
  for (const ProcessCapture& process : capture.processes) {
    CHECK(capture.tables.text(process.name) ==
          name_of(capture.nodes[process.node].host, process.read_us));
  }
}

std::vector<Capture> join(const std::vector<Look>& looks) {
  EpochJoiner captures;
  for (const Look& one : looks) {
    captures.add(look(one.host, one.pid, one.rank, one.read_us));
  }
  return captures.take();
}

TEST_CASE("epochs: nodes read together are one capture, later ones another, in any order") {
  const std::vector<Look> looks = {{"n0", 10, 0, 5'000'000},
                                   {"n1", 10, 1, 5'200'000},
                                   {"n0", 10, 0, 65'000'000},
                                   {"n1", 10, 1, 65'100'000}};
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    std::vector<Look> given;
    given.reserve(order.size());
    for (const std::size_t at : order) {
      given.push_back(looks[at]);
    }
    const auto times = join(given);
    REQUIRE(times.size() == 2);
    for (const Capture& time : times) {
      CHECK(time.nodes.size() == 2);
      CHECK(time.processes.size() == 2);
      check_names(time);
    }
    CHECK(times[0].processes[0].read_us < 6'000'000);
    CHECK(times[1].processes[0].read_us > 60'000'000);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("epochs: the same file twice is one capture") {
  CHECK(join({{"n0", 10, 0, 5'000'000}, {"n0", 10, 0, 5'000'000}}).size() == 1);
}

TEST_CASE("epochs: a restarted rank belongs to a later capture") {
  CHECK(join({{"n0", 10, 0, 5'000'000}, {"n0", 99, 0, 65'000'000}}).size() == 2);
}

TEST_CASE("epochs: other ranks of the same node, read later, are parts of one capture") {
  const auto times = join({{"n0", 10, 0, 5'000'000}, {"n0", 11, 1, 65'000'000}});
  REQUIRE(times.size() == 1);
  CHECK(times[0].processes.size() == 2);
  check_names(times[0]);
}

TEST_CASE("epochs: no files, no captures") {
  EpochJoiner captures;
  CHECK(captures.empty());
  CHECK(captures.take().empty());
  captures.add({});
  CHECK_FALSE(captures.empty());
  CHECK(captures.take().size() == 1);
  CHECK(captures.empty());
}

}  // namespace
}  // namespace oddrank::snapshot
