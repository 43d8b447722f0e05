#include "attach/clocks/run_clock.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attach/proc_task.h"
#include "tests/support/catch.h"

using oddrank::attach::CpuPauses;
using oddrank::attach::monotonic_now;
using oddrank::attach::parse_cpu_pauses;
using oddrank::attach::read_proc_sched;
using oddrank::attach::RunClock;
using oddrank::attach::RunMoment;
using namespace std::chrono_literals;

namespace {

// A machine that has been up for 20 hours; its clocks began five seconds after CLOCK_MONOTONIC.
constexpr auto kUp = 72'000s;
constexpr auto kBoot = 5s;

RunMoment at(std::chrono::microseconds left_out, std::chrono::microseconds ago, int cpu) {
  return {kUp, kUp - kBoot - left_out - ago, cpu};
}

std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

// A thread that went to sleep on a CPU.
class ClockSleeper {
 public:
  explicit ClockSleeper(int cpu)
      : thread_([this, cpu] {
          cpu_set_t set;
          CPU_ZERO(&set);
          CPU_SET(cpu, &set);
          ::sched_setaffinity(0, sizeof set, &set);
          tid_.set_value(::gettid());
          end_.get_future().wait();
        }) {}

  pid_t tid() { return known_.get(); }

 private:
  std::promise<pid_t> tid_;
  std::promise<void> end_;
  std::shared_future<pid_t> known_ = tid_.get_future().share();
  std::jthread thread_;
  // Before the thread is joined.
  struct End {
    std::promise<void>& end;
    ~End() { end.set_value(); }
  } at_end_{end_};
};

std::chrono::microseconds last_run(pid_t tid) {
  return read_proc_sched(::getpid(), tid).last_run.value_or(0s);
}

}  // namespace

TEST_CASE("pauses are counted per CPU") {
  const auto pauses = parse_cpu_pauses(
      "cpu  9931939 635773 1495319 2523274 13729 0 8473 43840 0 0\n"
      "cpu0 4932480 326245 728940 1312441 3570 2 1285 21029 0 0\n"
      "cpu2 4999458 309528 766379 1210832 10158 0 7187 22810 0 0\n"
      "intr 1\ncpu7 1 1 1 1 1 1 1 1 1\n");
  REQUIRE(pauses.size() == 3);
  CHECK(pauses[0].hard_interrupts == 20ms);
  CHECK(pauses[0].soft_interrupts == 12'850ms);
  CHECK(pauses[0].stolen == 210'290ms);
  CHECK(pauses[1].stolen == 0ms);
  CHECK(pauses[2].stolen == 228'100ms);
}

TEST_CASE("lines of nonexistent CPUs are skipped") {
  CHECK(parse_cpu_pauses("").empty());
  CHECK(parse_cpu_pauses("\n\n").empty());
  CHECK(parse_cpu_pauses("cpu0 1 2 3\ncpux 1 2 3 4 5 6 7 8\n").empty());
  CHECK(parse_cpu_pauses("cpu99999999 1 2 3 4 5 6 7 8 9\n").empty());
  const auto odd = parse_cpu_pauses("cpu0 1 2 3 4 5 -6 x 99999999999999999999 9\n");
  REQUIRE(odd.size() == 1);
  CHECK(odd[0].stolen == 0ms);
  CHECK(odd[0].hard_interrupts == 0ms);
}

TEST_CASE("clocks that include all time show how long a thread has not run") {
  const RunClock clock(at(0s, 0s, 0), {CpuPauses(), CpuPauses()});
  CHECK(clock.not_run_for(at(0s, 41min, 1)) == 41min);
  // It ran since.
  CHECK(clock.not_run_for(at(0s, -1s, 1)) == std::nullopt);
  CHECK(clock.not_run_for(at(0s, 41min, -1)) == std::nullopt);
}

TEST_CASE("time stolen from one CPU is no time of quiet") {
  // The hypervisor took 200 s from the first CPU and 700 s from the second.
  const std::vector<CpuPauses> pauses{{0s, 0s, 200s}, {0s, 0s, 700s}};
  const RunClock clock(at(200s, 0s, 0), pauses);
  CHECK(clock.not_run_for(at(200s, 3s, 0)) == 3s);
  // The error may be 1 % of the time stolen from both, so 3 s are unknown.
  CHECK(clock.not_run_for(at(700s, 3s, 1)) == std::nullopt);
  CHECK(clock.not_run_for(at(700s, 1h, 1)) == 1h - 9s);
  // A kernel that leaves stolen time in its clocks.
  const RunClock other(at(0s, 0s, 0), pauses);
  CHECK(other.not_run_for(at(0s, 3s, 1)) == 3s);
}

TEST_CASE("a kernel that times interrupts leaves them out, too") {
  const std::vector<CpuPauses> pauses{{50s, 50s, 0s}, {300s, 100s, 0s}};
  const RunClock clock(at(100s, 0s, 0), pauses);
  CHECK(clock.not_run_for(at(400s, 3s, 1)) == 3s);
  // A kernel that does not: its clocks include the interrupts.
  const RunClock other(at(0s, 0s, 0), pauses);
  CHECK(other.not_run_for(at(0s, 3s, 1)) == 3s);
}

TEST_CASE("if it is unclear what a clock leaves out, short times are unknown") {
  // On the first CPU both are possible, and on the second they lie a minute apart.
  const std::vector<CpuPauses> pauses{{1s, 1s, 0s}, {30s, 30s, 0s}};
  const RunClock clock(at(0s, 0s, 0), pauses);
  CHECK(clock.not_run_for(at(0s, 3s, 1)) == std::nullopt);
  CHECK(clock.not_run_for(at(0s, 3s, 0)) == 3s);
  // A minute in an hour is little; the report has the least that is possible.
  CHECK(clock.not_run_for(at(0s, 1h, 1)) == 1h - 58s);
}

TEST_CASE("if clocks match no known kernel, only threads of the own CPU have times") {
  // As in a virtual machine that was stopped and resumed elsewhere.
  const RunClock clock(at(3000s, 0s, 0), {CpuPauses(), CpuPauses()});
  CHECK(clock.not_run_for(at(3000s, 1h, 0)) == 1h);
  CHECK(clock.not_run_for(at(3000s, -1s, 0)) == std::nullopt);
  CHECK(clock.not_run_for(at(3000s, 1h, 1)) == std::nullopt);
}

TEST_CASE("the clock of another CPU is read there if it cannot be told") {
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() < 2 || !RunClock::here()) {
    return;  // nothing to tell apart
  }
  const auto began = monotonic_now();
  ClockSleeper sleeper(cpus[1]);
  // By this, their clocks may be an hour apart or not.
  std::vector<CpuPauses> pauses(static_cast<std::size_t>(cpus[1]) + 1);
  pauses.back().stolen = 1h;
  std::optional<std::chrono::microseconds> quiet;
  while (!quiet || *quiet < 100ms) {  // a busy CPU may have no time for us at first
    RunClock clock({monotonic_now(), last_run(::gettid()), cpus[0]}, pauses);
    CHECK(clock.not_run_for({monotonic_now(), last_run(sleeper.tid()), cpus[1]}) == std::nullopt);
    quiet = clock.find_not_run_for(::getpid(), sleeper.tid(), cpus[1]);
    REQUIRE(monotonic_now() - began < 60s);
    std::this_thread::sleep_for(10ms);
  }
  CHECK(*quiet <= monotonic_now() - began + 20ms);
}
