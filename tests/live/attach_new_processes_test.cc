// What a rank starts while it is read belongs to it.
#include <charconv>
#include <string>

#include "base/clock_us.h"
#include "ranks/new_processes.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::ranks {
namespace {

using test::Victim;

pid_t pid_in(const std::string& line) {
  pid_t pid = 0;
  std::from_chars(line.data(), line.data() + line.size(), pid);
  return pid;
}

snapshot::Capture capture_of(pid_t rank) {
  snapshot::Capture capture;
  snapshot::ProcessCapture& process = capture.processes.emplace_back();
  process.pid = process.owner = rank;
  process.is_rank = true;
  process.rank = 3;
  process.world_size = 8;
  process.job_key = capture.tables.string("job 7");
  return capture;
}

TEST_CASE("new: what a rank, or a child of its own, has started since is its child") {
  auto rank = Victim::start({"sh", "-c",
                             "echo ready; read line; sh -c 'sleep 1000 & echo below $!; wait' & "
                             "echo child $!; wait"});
  REQUIRE(rank);
  REQUIRE(rank->wait_line("ready"));
  snapshot::Capture capture = capture_of(rank->pid());
  CHECK(add_new_processes(capture, clock_us(CLOCK_BOOTTIME)) == 0);
  const std::uint64_t before = clock_us(CLOCK_BOOTTIME);
  REQUIRE(rank->send("go\n"));
  pid_t child = 0;
  pid_t below = 0;
  for (int line = 0; line < 2; ++line) {  // in either order
    const auto text = rank->wait_line("");
    REQUIRE(text);
    (text->starts_with("child ") ? child : below) = pid_in(text->substr(6));
  }
  REQUIRE(child > 0);
  REQUIRE(below > 0);
  CHECK(add_new_processes(capture, before + 60'000'000) == 0);  // they began before that
  CHECK(add_new_processes(capture, before) == 2);
  CHECK(add_new_processes(capture, before) == 0);
  for (std::size_t at = 1; at < capture.processes.size(); ++at) {
    const snapshot::ProcessCapture& process = capture.processes[at];
    CHECK((process.pid == child || process.pid == below));
    CHECK_FALSE(process.is_rank);
    CHECK(process.owner == rank->pid());
    CHECK(process.rank == 3);
    CHECK(process.world_size == 8);
    CHECK(capture.tables.text(process.job_key) == "job 7");
    CHECK(process.read == snapshot::ReadState::kNone);
    CHECK_FALSE(capture.tables.text(process.command).empty());
  }
}

TEST_CASE("new: processes that are not below a rank are nobody's") {
  auto rank = Victim::start({"sh", "-c", "echo ready; read line"});
  auto other = Victim::start({"sh", "-c", "echo ready; read line"});
  REQUIRE(rank);
  REQUIRE(other);
  REQUIRE(rank->wait_line("ready"));
  REQUIRE(other->wait_line("ready"));
  snapshot::Capture capture = capture_of(rank->pid());
  CHECK(add_new_processes(capture, 0) == 0);
}

}  // namespace
}  // namespace oddrank::ranks
