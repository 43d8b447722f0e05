#include "waits/node/kernel_log.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("kills of the whole machine and of a cgroup") {
  auto kill = parse_memory_kill(
      "3,1234,5678901,-;Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:5kB\n");
  REQUIRE(kill);
  CHECK(kill->pid == 77);
  CHECK(kill->name == "python3");
  CHECK(kill->at_us == 5678901);
  kill = parse_memory_kill(
      "3,1235,99,-,caller=T77;Memory cgroup out of memory: Killed process 8 (pt_data_worker) x\n"
      " SUBSYSTEM=memory\n");
  REQUIRE(kill);
  CHECK(kill->pid == 8);
  CHECK(kill->name == "pt_data_worker");
}

TEST_CASE("other records, and hostile ones") {
  CHECK_FALSE(parse_memory_kill("6,1,2,-;usb 1-1: new device\n"));
  CHECK_FALSE(parse_memory_kill("6,1,2,-;oom_reaper: reaped process 77 (python3), now anon-rss\n"));
  CHECK_FALSE(parse_memory_kill("Out of memory: Killed process 77 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1;Out of memory: Killed process 77 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process -7 (python3)"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process 77 (python3"));
  CHECK_FALSE(parse_memory_kill("3,1,2,-;Out of memory: Killed process "));
  const auto kill = parse_memory_kill("3,1,2,-;Out of memory: Killed process 7 (\x1b[2J)");
  REQUIRE(kill);
  CHECK(kill->name == "?[2J");
}

TEST_CASE("the log of this machine is read to its end, or may not be read") {
  const KernelWords words = read_kernel_words();
  for (const MemoryKill& kill : words.kills) {
    CHECK(kill.pid > 0);
  }
  for (const ServerWord& each : words.servers) {
    CHECK_FALSE(each.server.empty());
  }
}

}  // namespace
}  // namespace oddrank::waits
