#include "attach/clocks/visit_cpu.h"

#include <sched.h>

#include <chrono>

#include "tests/support/catch.h"

using oddrank::attach::visit_cpu;
using namespace std::chrono_literals;

TEST_CASE("work is done on the CPU that it was meant for") {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    int ran_on = -1;
    const bool ran = visit_cpu(cpu, 60s, [&ran_on] { ran_on = ::sched_getcpu(); });
    INFO("CPU " << cpu);
    CHECK(ran == (CPU_ISSET(cpu, &set) != 0));
    CHECK(ran_on == (ran ? cpu : -1));
  }
}

TEST_CASE("a CPU that no machine has is not visited") {
  for (const int cpu : {-1, 8191, 8192, 1 << 30}) {
    CHECK_FALSE(visit_cpu(cpu, 60s, [] { FAIL("it ran"); }));
  }
}

TEST_CASE("a CPU that has no time is left") {
  // The thread cannot have begun when we no longer wait; if it has, it must have done its work.
  const int cpu = ::sched_getcpu();
  for (int attempt = 0; attempt < 200; ++attempt) {
    int runs = 0;
    const bool ran = visit_cpu(cpu, 0ms, [&runs] { ++runs; });
    CHECK(runs == (ran ? 1 : 0));
  }
}
