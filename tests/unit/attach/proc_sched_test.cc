#include "attach/proc_sched.h"

#include <unistd.h>

#include <chrono>

#include "attach/proc_status.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::attach {
namespace {

using namespace std::chrono_literals;

TEST_CASE("proc_sched: the last run in milliseconds, and the counts of switches") {
  const ProcSched sched = parse_proc_sched(
      "a : b (18115, #threads: 1)\n"
      "-------------------\n"
      "se.exec_start                                :      72871574.392876\n"
      "se.vruntime                                  :        128488.224672\n"
      "nr_switches                                  :                   12\n"
      "nr_voluntary_switches                        :                    9\n"
      "nr_involuntary_switches                      :                    3\n"
      "policy                                       :                    0\n");
  CHECK(sched.last_run == 72'871'574ms);
  CHECK(sched.voluntary_switches == 9);
  CHECK(sched.involuntary_switches == 3);
  CHECK(parse_proc_sched("se.exec_start : 12").last_run == 12ms);
}

TEST_CASE("proc_sched: a file without a time has none") {
  for (const char* text : {"", "se.exec_start", "se.exec_start :", "se.exec_start : x",
                           "se.exec_start : -5.0", "se.exec_start : 99999999999999999999.0",
                           "se.vruntime : 5.0", "se.exec_start : 0.000000"}) {
    INFO(text);
    const ProcSched sched = parse_proc_sched(text);
    CHECK_FALSE(sched.last_run);
    CHECK_FALSE(sched.voluntary_switches);
  }
  CHECK_FALSE(parse_proc_sched("nr_voluntary_switches : -1\n").voluntary_switches);
}

TEST_CASE("proc_sched: the counts are those of the status") {
  ODDRANK_NEEDS_KERNEL();
  const auto before = read_proc_status(::getpid());
  const ProcSched sched = read_proc_sched(::getpid(), ::getpid());
  const auto after = read_proc_status(::getpid());
  REQUIRE(before);
  REQUIRE(after);
  if (!sched.voluntary_switches || !sched.involuntary_switches) {
    return;  // a kernel without CONFIG_SCHED_DEBUG
  }
  CHECK(*sched.voluntary_switches >= before->voluntary_switches);
  CHECK(*sched.voluntary_switches <= after->voluntary_switches);
  CHECK(*sched.involuntary_switches >= before->involuntary_switches);
  CHECK(*sched.involuntary_switches <= after->involuntary_switches);
}

}  // namespace
}  // namespace oddrank::attach
