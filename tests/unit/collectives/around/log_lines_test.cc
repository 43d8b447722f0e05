#include "collectives/around/log_lines.h"

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using snapshot::LogKind;
using snapshot::LogLine;

// As PyTorch and NCCL print them according to their source; not recorded from a GPU.
constexpr std::string_view kLog = R"(step 10 loss 3.1
[rank1]:[E1121 10:00:01.000 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0(default_pg) Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.
[rank1]: 	 - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
	 - [0, 1] joined but didn't finish collective #12 (count from 1)
	 - [2] finished collective #11, but didn't join collective #12 (count from 1)
n0:71:90 [0] NCCL INFO ncclCommInitRank comm 0x55aa rank 0 nranks 4 cudaDev 0 - Init START
n0:72:91 [1] NCCL INFO ncclCommInitRank comm 0x55bb rank 1 nranks 4 cudaDev 1 - Init START
n0:71:90 [0] NCCL INFO ncclCommInitRank comm 0x55aa rank 0 nranks 4 cudaDev 0 - Init COMPLETE
n0:71:95 [0] transport/net_ib.cc:2049 NCCL WARN NET/IB: Got completion from peer with status=12
)";

std::vector<LogLine> of_kind(const std::vector<LogLine>& lines, LogKind kind) {
  std::vector<LogLine> found;
  for (const LogLine& line : lines) {
    if (line.kind == kind) {
      found.push_back(line);
    }
  }
  return found;
}

TEST_CASE("log: the watchdog of nccl2 names no call, and a rank within the group") {
  snapshot::Tables tables;
  const auto lines =
      read_log_lines(
          "[rank6]:[E1121 10:00:01.000 ProcessGroupNCCL.cpp:1871] [TC][rank=2][name=5] Watchdog "
          "caught "
          "collective operation timeout: NCCL operation timed out\n"
          "E1121 10:00:01.000 ProcessGroupNCCL.cpp:1871] [TC][rank=2][name=5] Watchdog caught "
          "collective operation timeout: NCCL operation timed out\n",
          -1, tables)
          .lines;
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].kind == LogKind::kWatchdogTimeout);
  CHECK(lines[0].rank == 6);
  CHECK(lines[0].sequence == -1);
  CHECK(lines[1].rank == -1);
}

TEST_CASE("log: the watchdog, the desync report, a warning, a communicator that is not complete") {
  snapshot::Tables tables;
  const auto lines = read_log_lines(kLog, -1, tables).lines;
  const auto timeouts = of_kind(lines, LogKind::kWatchdogTimeout);
  REQUIRE(timeouts.size() == 1);
  CHECK(timeouts[0].rank == 1);
  CHECK(timeouts[0].sequence == 12);
  CHECK(tables.text(timeouts[0].op) == "ALLREDUCE");
  const auto desync = of_kind(lines, LogKind::kDesync);
  REQUIRE(desync.size() == 1);  // ranks that joined wait like all others
  CHECK(desync[0].behind == std::vector<std::int32_t>{2});
  const auto warnings = of_kind(lines, LogKind::kWarning);
  REQUIRE(warnings.size() == 1);
  CHECK(tables.text(warnings[0].text).find("status=12") != std::string_view::npos);
  const auto init = of_kind(lines, LogKind::kInit);
  REQUIRE(init.size() == 1);
  CHECK(tables.text(init[0].text).find("0x55bb") != std::string_view::npos);
}

TEST_CASE("log: srun says how tasks have ended") {
  snapshot::Tables tables;
  const auto lines =
      read_log_lines(
          "srun: error: n1: task 3: Exited with exit code 1\n"
          "srun: error: n[0-1]: tasks 0-1,4: Killed\n"
          "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
          "srun: error: n1: task many: Killed\n"
          "srun: error: n1: task 5\n"
          "x srun: error: n1: task 6: Killed\n",
          -1, tables)
          .lines;
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].kind == LogKind::kTaskEnd);
  CHECK(lines[0].behind == std::vector<std::int32_t>{3});
  CHECK(tables.text(lines[0].text) == "srun: error: n1: task 3: Exited with exit code 1");
  CHECK(lines[1].behind == std::vector<std::int32_t>{0, 1, 4});
}

TEST_CASE("log: ranks that never joined; a file of one rank") {
  snapshot::Tables tables;
  const auto lines = read_log_lines(
                         " - To our best knowledge, ranks [3, 5] are the lagging ranks that caused "
                         "this timeout. They "
                         "never joined any collectives",
                         7, tables)
                         .lines;
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].behind == std::vector<std::int32_t>{3, 5});
  CHECK(lines[0].rank == 7);
}

TEST_CASE("log: the last few of thousands of lines are kept, cut; damaged ones are ignored") {
  snapshot::Tables tables;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "n0:1:1 [0] NCCL WARN number " + std::to_string(i) + std::string(1000, 'x') + "\n";
  }
  const auto [lines, left_out] = read_log_lines(text, -1, tables);
  REQUIRE(lines.size() == 32);
  CHECK(left_out == 1000 - 32);
  CHECK(tables.text(lines.back().text).starts_with("n0:1:1 [0] NCCL WARN number 999"));
  CHECK(tables.text(lines.back().text).size() == 300);
  CHECK(tables.strings().size() < 40);  // lines that are left out cost nothing
  for (const char* bad :
       {"", "[rank", "[rankx]: hm", "[1, x] finished collective #1, but didn't join collective #2",
        "] are the lagging ranks", "SeqNum="}) {
    CHECK(read_log_lines(bad, -1, tables).lines.empty());
  }
}

}  // namespace
}  // namespace oddrank::collectives
