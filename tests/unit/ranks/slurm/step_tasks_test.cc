#include "ranks/slurm/step_tasks.h"

#include <cstring>

#include "tests/support/catch.h"

namespace oddrank::ranks {
namespace {

std::string task_bytes(std::int32_t id, std::int32_t number, bool exited, std::int32_t status) {
  std::string bytes(kStepTaskSize, '\0');
  const std::int32_t pid = 1000 + id;
  std::memcpy(bytes.data(), &id, 4);
  std::memcpy(bytes.data() + 4, &number, 4);
  std::memcpy(bytes.data() + 8, &pid, 4);
  bytes[12] = exited ? '\1' : '\0';
  std::memcpy(bytes.data() + 13, &status, 4);
  return bytes;
}

TEST_CASE("the tasks of a step that have ended, with their status") {
  const auto ended = parse_step_tasks(task_bytes(0, 4, false, 0) + task_bytes(1, 5, true, 0) +
                                      task_bytes(2, 6, true, 9) + task_bytes(3, 7, true, 3 << 8));
  REQUIRE(ended);
  CHECK(*ended == std::vector<EndedTask>{{5, 0}, {6, 9}, {7, 3 << 8}});
  CHECK(parse_step_tasks(task_bytes(0, 0, false, 0))->empty());
}

TEST_CASE("what is no list of tasks is refused") {
  const std::string one = task_bytes(0, 4, true, 0);
  for (const std::string& bytes :
       {std::string(), one.substr(1), one + one, task_bytes(1, 4, true, 0),
        task_bytes(0, -1, true, 0), task_bytes(0, 4, true, -1), task_bytes(0, 4, true, 0x10000),
        one + task_bytes(1, 4, false, 0)}) {
    CHECK(parse_step_tasks(bytes).error().code == Errc::kBadData);
  }
  std::string neither = one;
  neither[12] = 2;
  CHECK(parse_step_tasks(neither).error().code == Errc::kBadData);
}

TEST_CASE("the socket of a step's daemon") {
  const std::string head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
  const auto row = [](const std::string& path, const char* flags = "00010000") {
    return std::string("0000000000000000: 00000002 00000000 ") + flags + " 0001 01 77 " + path +
           "\n";
  };
  const std::string one = row("/var/spool/slurmd/n1_4711.0");
  CHECK(step_socket(head + one, "4711.0") == "/var/spool/slurmd/n1_4711.0");
  // Other steps, and those that only end in the same digits.
  CHECK(step_socket(head + one, "711.0").empty());
  CHECK(step_socket(head + one, "4711.00").empty());
  CHECK(step_socket(head + row("/spool/n1_4711.10"), "4711.0").empty());
  // A connection that the daemon has accepted has its path, too.
  CHECK(step_socket(head + row("/var/spool/slurmd/n1_4711.0", "00000000"), "4711.0").empty());
  CHECK(step_socket(head + row("@n1_4711.0"), "4711.0").empty());
  // Two nodes on one machine: which is meant is not known.
  CHECK(step_socket(head + one + row("/var/spool/slurmd/n2_4711.0"), "4711.0").empty());
}

}  // namespace
}  // namespace oddrank::ranks
