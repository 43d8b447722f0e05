#include "waits/node/node_pressure.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("kills for lack of memory, of both versions of cgroups") {
  CHECK(parse_oom_kills("low 0\nhigh 12\nmax 340\noom 3\noom_kill 2\noom_group_kill 0\n") == 2);
  CHECK(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n") == 7);
  CHECK(parse_oom_kills("oom_kill\noom_kill x\n") == 0);
  CHECK(parse_oom_kills("") == 0);
}

TEST_CASE("periods in which a cgroup had used its CPU up") {
  const Throttling cpu = parse_throttling("usage_usec 9\nnr_periods 100\nnr_throttled 40\n");
  CHECK(cpu.periods == 100);
  CHECK(cpu.throttled == 40);
  CHECK(parse_throttling("").throttled == 0);
}

TEST_CASE("pressure is the share of time in which no task could run") {
  CHECK(parse_pressure("some avg10=50.00 avg60=1.00 avg300=0.00 total=9\n"
                       "full avg10=12.34 avg60=0.00 avg300=0.00 total=5\n") == Approx(12.34));
  CHECK(parse_pressure("full avg10=none\n") == 0);
  CHECK(parse_pressure("full avg10=1e9\n") == 0);
  CHECK(parse_pressure("") == 0);
}

TEST_CASE("swap and major faults of a process") {
  CHECK(parse_swap_kib("VmRSS:\t  10 kB\nVmSwap:\t  2048 kB\nThreads:\t1\n") == 2048);
  CHECK(parse_swap_kib("VmSwap:\n") == 0);
  CHECK(parse_swap_kib("") == 0);
  CHECK(parse_major_faults("7 (a) b) S 1 7 7 0 -1 4194304 11 12 345 14 15 16") == 345);
  CHECK(parse_major_faults("7 (name S 1 7 7 0 -1 4194304 11 12 345") == 0);
  CHECK(parse_major_faults("7 (name) S 1") == 0);
}

snapshot::Capture ranks_in(const std::string& states) {
  snapshot::Capture capture;
  for (const char state : states) {
    snapshot::ProcessCapture& process = capture.processes.emplace_back();
    process.is_rank = true;
    process.rank = static_cast<std::int32_t>(capture.processes.size()) - 1;
    process.threads.emplace_back().samples.emplace_back().state = state;
  }
  return capture;
}

TEST_CASE("a load far above the CPUs, while ranks want to run") {
  const std::string text = "37.24 20.11 9.03 12/1204 3121\n";
  CHECK(load_note(text, 8, ranks_in("SR")) ==
        "the load is 37.2 on 8 CPUs, and rank 1 wants to run");
  CHECK(load_note(text, 1, ranks_in("RRS")) ==
        "the load is 37.2 on 1 CPU, and threads of 2 ranks want to run");
}

TEST_CASE("no news: ranks that sleep, a load that the CPUs bear, other texts") {
  const std::string text = "37.24 20.11 9.03 12/1204 3121\n";
  CHECK(load_note(text, 8, ranks_in("SD")).empty());
  CHECK(load_note(text, 8, ranks_in("")).empty());
  CHECK(load_note(text, 19, ranks_in("R")).empty());
  for (const char* other : {"", "x", "nan", "-5", "1e300 2 3"}) {
    INFO(other);
    CHECK(load_note(other, 1, ranks_in("R")).empty());
  }
  CHECK(load_note(text, 0, ranks_in("R")).empty());
  snapshot::Capture child = ranks_in("R");
  child.processes[0].is_rank = false;
  CHECK(load_note(text, 1, child).empty());
}

}  // namespace
}  // namespace oddrank::waits
