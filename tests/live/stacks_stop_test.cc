// Stacks of threads that run, and what their processes notice when they are read.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <random>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "elf/symbolize.h"
#include "stacks/collect.h"
#include "tests/live/named_stacks.h"
#include "tests/live/running_victim.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/name_frames.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

using snapshot::MergeState;
using snapshot::ReadState;
using snapshot::StackEnd;
using test::goes_on;
using test::harm_of;
using test::in_order;
using test::read_process;
using test::read_until;
using test::start_running;
using test::Victim;
using Names = std::vector<std::string>;

// Returns the frames outside the victim's work in each mode.
Names workers() {
  return {"work::inner", "work::middle", "work::outer"};
}

CollectOptions never_stop() {
  CollectOptions options;
  options.stop = false;
  return options;
}

const snapshot::ThreadCapture& thread_of(const snapshot::Capture& capture, pid_t tid) {
  const auto& threads = capture.processes.at(0).threads;
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [tid](const auto& thread) { return thread.tid == tid; });
  REQUIRE(found != threads.end());
  return *found;
}

const snapshot::Stack& stack_of(const snapshot::Capture& capture, pid_t tid) {
  return capture.tables.stack(thread_of(capture, tid).samples.back().stack);
}

// On a busy machine a thread may get no CPU to stop on, or wait for a page of its own code; then it
// is read again. Without Python frames its stack is unknown, with them it is marked as running.
Result<snapshot::Capture> read_held(pid_t pid, pid_t tid) {
  return read_until(pid, [tid](const snapshot::Capture& seen) {
    const StackEnd end = stack_of(seen, tid).end;
    return end != StackEnd::kUnknown && end != StackEnd::kRunning;
  });
}

Names names_of(snapshot::Capture& capture, pid_t tid) {
  elf::name_frames(capture, test::open_as_seen);
  return test::names_of(capture, stack_of(capture, tid));
}

Result<test::RunningVictim> start_python(const std::string& code) {
  ODDRANK_TRY(auto victim, Victim::start({"python3", "-c", code}));
  ODDRANK_TRY_STATUS([&]() -> Status {
    ODDRANK_TRY(const auto line, victim.wait_line("ready"));
    return ok();
  }());
  const pid_t pid = victim.pid();
  return test::RunningVictim{std::move(victim), {}, pid};
}

bool has_python() {
  return start_python("print('ready', flush=True)").has_value();
}

// Returns the words of the line that the victim prints as its record.
std::vector<std::string> record_of(Victim& victim) {
  REQUIRE(victim.send("\n"));
  const auto line = victim.wait_line("record");
  REQUIRE(line);
  INFO(*line);
  std::vector<std::string> words;
  for (const auto word : split_blanks(*line)) {
    words.emplace_back(word);
  }
  return words;
}

TEST_CASE("stopped: threads that run have whole stacks, each time") {
  const std::string mode = GENERATE(as<std::string>(), "spin", "thread", "altstack", "handlers",
                                    "vdso", "malloc", "yield");
  CAPTURE(mode);
  const auto running = start_running(mode);
  REQUIRE(running);
  for (int i = 0; i < 40; ++i) {
    // One that waits for a page of its own code is read without a stop.
    auto capture = read_until(running->victim.pid(), [](const snapshot::Capture& seen) {
      return seen.processes[0].stopped == 1;
    });
    REQUIRE(capture);
    const Names names = names_of(*capture, running->tid);
    CAPTURE(i, names);
    REQUIRE(stack_of(*capture, running->tid).end == StackEnd::kComplete);
    REQUIRE(in_order(names, workers()));
    REQUIRE(names.size() <= 24);
    const auto& frames = stack_of(*capture, running->tid).frames;
    Names handlers;  // whose caller is the signal trampoline
    for (std::size_t at = 1; at < frames.size(); ++at) {
      if ((capture->tables.frame(frames[at]).flags & snapshot::kSignalFrame) != 0) {
        handlers.push_back(names[at - 1]);
      }
    }
    const bool in_handler = mode == "altstack" || mode == "handlers";
    REQUIRE(handlers == (in_handler ? Names{"work::on_signal"} : Names{}));
    REQUIRE(capture->processes[0].read == ReadState::kFull);
  }
  CHECK(goes_on(*running));
  CHECK(harm_of(running->victim.pid(), "RS").empty());
}

TEST_CASE("stopped: eight threads that run are stopped once, together") {
  const auto running = start_running("threads");
  REQUIRE(running);
  REQUIRE(running->victim.wait_syscall(test::kPauseCall));
  // On a loaded machine some of them may get no CPU to stop on in time, or we may get none.
  const auto capture = read_until(running->victim.pid(), [](const snapshot::Capture& seen) {
    return seen.processes[0].stopped == 8 && seen.processes[0].longest_stop_us < 150'000;
  });
  REQUIRE(capture);
  const auto& process = capture->processes[0];
  REQUIRE(process.threads.size() == 9);
  CHECK(process.stopped == 8);
  CHECK(process.longest_stop_us > 0);
  CHECK(process.longest_stop_us < 150'000);
  for (const auto& thread : process.threads) {
    CHECK(stack_of(*capture, thread.tid).end == StackEnd::kComplete);
  }
  CHECK(harm_of(running->victim.pid(), "RS").empty());
}

TEST_CASE("stopped: a Python thread that runs has both kinds of frames, in the order of calls") {
  if (!has_python()) {
    ODDRANK_SKIP("no python3 in PATH");
  }
  const auto python = start_python(R"(
def spin(n):
    while True: n += 1
def train(step):
    list(map(spin, [step]))
print('ready', flush=True)
train(7)
)");
  REQUIRE(python);
  REQUIRE(python->victim.wait_state("R"));
  const Names spins = {"spin", "*", "train", "<module>", "*"};
  bool has_begun = false;  // it may still be in the write that told us "ready"
  for (int i = 0, reads = 0; i < 40; i += has_begun ? 1 : 0) {
    auto capture = read_held(python->tid, python->tid);
    REQUIRE(capture);
    const Names names = names_of(*capture, python->tid);
    has_begun = has_begun || in_order(names, spins);
    CAPTURE(i, names);
    REQUIRE(++reads < 2000);
    if (!has_begun) {
      continue;
    }
    const auto& stack = stack_of(*capture, python->tid);
    REQUIRE(stack.end == StackEnd::kComplete);
    REQUIRE(stack.merge == MergeState::kMerged);
    REQUIRE(in_order(names, spins));
    REQUIRE(thread_of(*capture, python->tid).holds_gil);
  }
  const auto partial = read_process(python->tid, never_stop());
  REQUIRE(partial);
  CHECK(stack_of(*partial, python->tid).end == StackEnd::kRunning);
  CHECK(stack_of(*partial, python->tid).merge == MergeState::kPythonOnly);
  CHECK(partial->processes[0].stopped == 0);
  CHECK(harm_of(python->tid, "R").empty());
}

TEST_CASE("stopped: code that keeps its frame in a register that is saved nowhere") {
  const auto running = start_running("handmade");
  REQUIRE(running);
  REQUIRE(running->victim.wait_syscall(test::kPauseCall));
  const auto partial = read_process(running->tid, never_stop());
  REQUIRE(partial);
  CHECK(stack_of(*partial, running->tid).end == StackEnd::kNoUnwindInfo);
  auto capture = read_until(running->tid, [](const snapshot::Capture& seen) {
    return seen.processes[0].stopped == 1;  // not where the machine paused for too long
  });
  REQUIRE(capture);
  const Names names = names_of(*capture, running->tid);
  CAPTURE(names);
  CHECK(capture->processes[0].stopped == 1);
  CHECK(stack_of(*capture, running->tid).end == StackEnd::kComplete);
  CHECK(in_order(names, workers()));
  CHECK(running->victim.wait_syscall(test::kPauseCall));
  CHECK(harm_of(running->tid, "S").empty());
}

TEST_CASE("stopped: a thread that sleeps in code without tables is left alone") {
  // A stop would show the registers, but nothing says which of them holds a frame.
  const std::string name = GENERATE("tableless", "tableless_pointer");
  INFO(name);
  auto victim = Victim::start({test::victim_path(name)});
  REQUIRE(victim);
  REQUIRE(victim->wait_syscall(SYS_clock_nanosleep));
  const pid_t pid = victim->pid();
  auto capture = read_process(pid);
  REQUIRE(capture);
  CHECK(capture->processes[0].stopped == 0);
  // Frame pointers are found on the stack.
  const Names names = names_of(*capture, pid);
  REQUIRE_FALSE(names.empty());
  CHECK(names.front().find("sleep_long") != std::string::npos);
  CHECK((name == "tableless" || !test::kReturnAddressInMemory ||
         std::find(names.begin(), names.end(), "outer") != names.end()));
  // Another tool's stop does not take the name of the call away.
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  auto seen = (*target)->thread(pid);
  REQUIRE(seen);
  const auto stop = (*target)->while_stopped(std::span(&*seen, 1), std::chrono::milliseconds(5000),
                                             [](auto /*attempts*/) {});
  REQUIRE(stop);
  REQUIRE(stop->held == 1);
  REQUIRE(victim->wait_syscall(SYS_restart_syscall));
  const auto after = (*target)->thread(pid);
  REQUIRE(after);
  CHECK(after->syscall->number == SYS_clock_nanosleep);
}

TEST_CASE("stopped: --never-stop leaves threads that run alone, and says so") {
  const auto running = start_running("spin");
  REQUIRE(running);
  const auto capture = read_process(running->tid, never_stop());
  REQUIRE(capture);
  CHECK(capture->processes[0].stopped == 0);
  CHECK(thread_of(*capture, running->tid).samples[0].stack == snapshot::StackId{});
}

TEST_CASE("stopped: a process stopped by SIGSTOP is read, and stays stopped") {
  const auto running = start_running("spin");
  REQUIRE(running);
  running->victim.signal(SIGSTOP);
  REQUIRE(running->victim.wait_state("T"));
  for (int i = 0; i < 20; ++i) {
    auto capture = read_held(running->tid, running->tid);
    REQUIRE(capture);
    const Names names = names_of(*capture, running->tid);
    CAPTURE(names);
    REQUIRE(stack_of(*capture, running->tid).end == StackEnd::kComplete);
    REQUIRE(in_order(names, workers()));
    REQUIRE(thread_of(*capture, running->tid).samples[0].state == 'T');
    REQUIRE(harm_of(running->tid, "T").empty());
  }
  running->victim.signal(SIGCONT);
  CHECK(goes_on(*running));
}

TEST_CASE("stopped: a process that another process traces") {
  const bool held = GENERATE(true, false);
  const auto running = start_running("spin");
  REQUIRE(running);
  std::array<int, 2> ready{-1, -1};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    const bool seized = ::ptrace(PTRACE_SEIZE, running->tid, nullptr, nullptr) == 0;
    if (held) {
      ::ptrace(PTRACE_INTERRUPT, running->tid, nullptr, nullptr);
      ::waitpid(running->tid, nullptr, __WALL);
    }
    (void)!::write(ready[1], seized ? "y" : "n", 1);
    while (true) {
      ::pause();
    }
  }
  char answer = 'n';
  const ssize_t got = ::read(ready[0], &answer, 1);
  const auto capture = read_process(running->tid);
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  REQUIRE(got == 1);
  REQUIRE(answer == 'y');
  REQUIRE(capture);
  const auto& process = capture->processes[0];
  CHECK(process.stopped == 0);
  if (held) {
    CHECK(process.state == 't');
    CHECK_FALSE(stack_of(*capture, running->tid).frames.empty());
  } else {
    CHECK(process.read == ReadState::kPartial);
    CHECK(capture->tables.text(process.why) ==
          "no native stack of the main thread: it runs, and could not be stopped: it is traced "
          "by live_stop (pid " +
              std::to_string(tracer) + ")");
  }
  CHECK(goes_on(*running));
}

TEST_CASE("stopped: a process whose threads sleep is never stopped") {
  auto victim = Victim::start({test::victim_path("frames"), "threads"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(test::kPauseCall));
  const auto still = read_process(victim->pid(), never_stop());
  REQUIRE(still);
  for (const auto& thread : still->processes[0].threads) {
    REQUIRE(victim->wait_syscall(thread.tid == victim->pid() ? test::kPauseCall : SYS_futex,
                                 thread.tid));
  }
  for (int i = 0; i < 50; ++i) {
    const auto capture = read_process(victim->pid());
    REQUIRE(capture);
    REQUIRE(capture->processes[0].stopped == 0);
  }
}

TEST_CASE("stopped: calls that a stop would end early are not, while a thread beside them runs") {
  auto victim = Victim::start({test::victim_path("interrupted")});
  REQUIRE(victim);
  const auto semaphores = victim->wait_line("ready");
  REQUIRE(semaphores);
  std::uint32_t stopped = 0;  // a loaded machine may take more reads for as many stops
  for (const Deadline deadline = Victim::soon(); stopped < 250 && !deadline.passed();) {
    const auto capture = read_process(victim->pid());
    REQUIRE(capture);
    stopped += capture->processes[0].stopped;
  }
  const auto record = record_of(*victim);
  ::semctl(parse_number<int>(*semaphores).value_or(-1), 0, IPC_RMID);
  CHECK(stopped >= 250);
  REQUIRE(record.size() == 12);
  for (std::size_t i = 0; i + 2 < record.size(); i += 2) {
    INFO(record[i]);
    CHECK(record[i + 1] == "0");
  }
}

TEST_CASE("stopped: captures of a process in a storm of signals lose none") {
  auto victim = Victim::start({test::victim_path("signals")});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  const auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  const std::uint32_t times = std::getenv("ODDRANK_FULL") == nullptr ? 600 : 3000;
  std::uint32_t stopped = 0;
  const Deadline deadline = Victim::soon();
  for (std::uint32_t i = 0; i < times || (stopped <= times * 2 / 3 && !deadline.passed()); ++i) {
    snapshot::Tables tables;
    snapshot::ProcessCapture process;
    REQUIRE(collect_stacks(**target, {}, tables, process));
    stopped += process.stopped;
  }
  CHECK(stopped > times * 2 / 3);
  CHECK(harm_of(victim->pid(), "RS").empty());
  const auto record = record_of(*victim);
  REQUIRE(record.size() == 4);
  CHECK(record[0] == record[1]);
  CHECK(record[2] == "0");
  CHECK(record[0] != "0");
  CHECK(record[3] != "0");
}

// Reads again and again, until it is killed; reports that it is ready before the first time.
[[noreturn]] void read_for_ever(pid_t pid, int started) {
  (void)!::write(started, "x", 1);
  while (true) {
    static_cast<void>(read_process(pid));
  }
}

TEST_CASE("stopped: a reader killed at any moment leaves its target as it was") {
  const auto running = start_running("threads");
  REQUIRE(running);
  const pid_t pid = running->victim.pid();
  REQUIRE(running->victim.wait_syscall(test::kPauseCall));
  std::mt19937 random(20250611);  // NOLINT(cert-msc51-cpp): the same moments each time
  std::uniform_int_distribution<useconds_t> moment(0, 12000);
  for (int i = 0; i < 200; ++i) {
    std::array<int, 2> started{-1, -1};
    REQUIRE(::pipe(started.data()) == 0);
    const pid_t reader = ::fork();
    if (reader == 0) {
      read_for_ever(pid, started[1]);
    }
    char byte = 0;
    const ssize_t got = ::read(started[0], &byte, 1);
    ::usleep(moment(random));
    ::kill(reader, SIGKILL);
    const pid_t reaped = ::waitpid(reader, nullptr, 0);
    ::close(started[0]);
    ::close(started[1]);
    CAPTURE(i);
    REQUIRE(got == 1);
    REQUIRE(reaped == reader);
    REQUIRE(harm_of(pid, "RS").empty());
    REQUIRE(goes_on(*running));
  }
  REQUIRE(::waitpid(-1, nullptr, WNOHANG) <= 0);  // the victim is the only child, and it lives
}

TEST_CASE("stopped: threads that start and exit while they are read") {
  auto victim = Victim::start({test::victim_path("storm"), "threads"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  for (int i = 0; i < 300; ++i) {
    const auto capture = read_process(victim->pid());
    REQUIRE(capture);
    REQUIRE_FALSE(capture->processes[0].threads.empty());
    CHECK(capture->processes[0].threads[0].tid == victim->pid());
  }
  REQUIRE(victim->wait_line("round"));
  REQUIRE(victim->wait_line("round"));
}

TEST_CASE("stopped: a process that executes itself anew while it is read") {
  auto victim = Victim::start({test::victim_path("storm"), "exec"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  int whole = 0;
  const Deadline deadline = Victim::soon();
  for (int i = 0; i < 300 || (whole == 0 && !deadline.passed()); ++i) {
    const auto capture = read_process(victim->pid());
    if (capture && stack_of(*capture, victim->pid()).end == StackEnd::kComplete) {
      ++whole;
    }
  }
  CHECK(whole > 0);
  REQUIRE(victim->wait_line("round"));
  REQUIRE(victim->wait_line("round"));
}

}  // namespace
}  // namespace oddrank::stacks
