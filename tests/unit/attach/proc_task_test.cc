#include "attach/proc_task.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include "attach/proc_status.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

using oddrank::Errc;
using oddrank::attach::parse_proc_syscall;

TEST_CASE("a running thread has neither call nor registers") {
  const auto blocked = parse_proc_syscall("running\n");
  REQUIRE(blocked);
  CHECK_FALSE(blocked->syscall);
  CHECK_FALSE(blocked->registers);
}

TEST_CASE("a thread in a system call has number, arguments, sp and pc") {
  const auto blocked = parse_proc_syscall(
      "202 0x7f0000001000 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd00000010 0x7f1234567890\n");
  REQUIRE(blocked);
  REQUIRE(blocked->syscall);
  CHECK(blocked->syscall->number == 202);
  CHECK(blocked->syscall->arguments[0] == 0x7f0000001000);
  CHECK(blocked->syscall->arguments[5] == 0xffffffff);
  REQUIRE(blocked->registers);
  CHECK(blocked->registers->sp == 0x7ffd00000010);
  CHECK(blocked->registers->pc == 0x7f1234567890);
  CHECK_FALSE(blocked->registers->all);
}

TEST_CASE("a thread blocked outside a system call has sp and pc") {
  const auto blocked = parse_proc_syscall("-1 0x7ffd00000010 0x7f1234567890\n");
  REQUIRE(blocked);
  CHECK(blocked->syscall->number == -1);
  CHECK(blocked->registers->sp == 0x7ffd00000010);
}

TEST_CASE("a thread that is exiting has no registers") {
  const auto blocked = parse_proc_syscall("-1 0x0 0x0\n");
  REQUIRE(blocked);
  CHECK(blocked->syscall);
  CHECK_FALSE(blocked->registers);
}

TEST_CASE("anything else is refused") {
  for (const char* text :
       {"", "walking", "running away", "0 0x1 0x2", "-1 0x1", "-1 1 2", "x 0x1 0x2",
        "1 0x1 0x1 0x1 0x1 0x1 0x1 0x1", "1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1",
        "1 1 1 1 1 1 1 1 1", "1 0x1 0x1 0x1 0x1 0x1 0x1 0x11111111111111111 0x1"}) {
    const auto blocked = parse_proc_syscall(text);
    INFO(text);
    REQUIRE_FALSE(blocked);
    CHECK(blocked.error().code == Errc::kBadData);
  }
}

TEST_CASE("our own threads begin with the main thread") {
  ODDRANK_NEEDS_KERNEL();
  const auto tids = oddrank::attach::read_tids(::getpid());
  REQUIRE(tids);
  CHECK(tids->front() == ::getpid());
  const auto state = oddrank::attach::read_thread_state(::getpid(), ::getpid());
  REQUIRE(state);
  CHECK(state->state == 'R');
  CHECK(state->name == "unit_attach");
  CHECK(oddrank::attach::read_tids(0x7ffffff0).error().code == Errc::kGone);
  CHECK(oddrank::attach::read_thread_state(::getpid(), 0x7ffffff0).error().code == Errc::kGone);
}

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
