// Stops threads of real processes for a moment, and checks what they notice.
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "tests/live/running_victim.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::attach {
namespace {

using test::goes_on;
using test::harm_of;
using test::RunningVictim;
using test::start_running;
using test::Victim;

// The tool itself waits 100 ms. On a loaded machine a thread may get no CPU to stop on for longer,
// and these tests are about threads that do stop.
constexpr std::chrono::milliseconds kPatience{20000};

void look_at_nothing(std::span<const StopAttempt>) {}

ThreadState as_running(pid_t tid) {
  ThreadState thread;
  thread.tid = tid;
  thread.state = 'R';
  return thread;
}

// Stops one thread; tries again if the thread got no CPU in time.
StopAttempt stop_one(const Target& target, const ThreadState& thread) {
  const Deadline deadline = Victim::soon();
  while (true) {
    const auto stop = target.while_stopped(std::span(&thread, 1), kPatience, look_at_nothing);
    REQUIRE(stop);
    REQUIRE(stop->threads.size() == 1);
    if (stop->threads[0].end != StopEnd::kLate || deadline.passed()) {
      return stop->threads[0];
    }
  }
}

// A child that traces a thread, and stops it or lets it run, until the object is destroyed.
class OtherTracer {
 public:
  OtherTracer(pid_t tid, bool stops) {
    std::array<int, 2> ready{-1, -1};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char answer = ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0 ? 'y' : 'n';
      if (stops && (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 ||
                    ::waitpid(tid, nullptr, __WALL) != tid)) {
        answer = 'n';
      }
      (void)!::write(ready[1], &answer, 1);
      while (true) {
        ::pause();
      }
    }
    char answer = 0;
    REQUIRE(::read(ready[0], &answer, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
    REQUIRE(answer == 'y');
  }
  ~OtherTracer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherTracer(const OtherTracer&) = delete;
  OtherTracer& operator=(const OtherTracer&) = delete;
  OtherTracer(OtherTracer&&) = delete;
  OtherTracer& operator=(OtherTracer&&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST_CASE("stop: a running thread stands still while it is read, and then runs on") {
  const auto running = start_running("spin");
  REQUIRE(running);
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  const ThreadState seen = as_running(running->tid);
  std::vector<std::uint64_t> counts;
  char state_inside = '?';
  const auto look = [&](std::span<const StopAttempt>) {
    for (int i = 0; i < 50; ++i) {
      counts.push_back(read_object<std::uint64_t>(**target, running->counter).value_or(0));
    }
    state_inside = (*target)->thread(seen.tid)->state;
  };
  const auto stop = (*target)->while_stopped(std::span(&seen, 1), kPatience, look);
  REQUIRE(stop);
  CHECK(stop->held == 1);
  REQUIRE(stop->threads.at(0).end == StopEnd::kHeld);
  CHECK(state_inside == 't');
  CHECK(std::vector<std::uint64_t>(50, counts.at(0)) == counts);
  CHECK(stop->took.count() > 0);
  const ThreadState& held = stop->threads[0].thread;
  CHECK(held.state == 'R');
  CHECK_FALSE(held.syscall);
  REQUIRE(held.registers);
  CHECK(held.registers->all);
  const Mapping* code = (*target)->maps().find(Addr{held.registers->pc});
  REQUIRE(code != nullptr);
  CHECK(code->executable);
  CHECK((*target)->maps().find(Addr{held.registers->sp}) != nullptr);
  CHECK((*target)->maps().find(Addr{held.registers->thread_pointer}) != nullptr);
  CHECK(goes_on(*running));
  CHECK(harm_of(running->victim.pid(), "R").empty());
}

TEST_CASE("stop: a thread that has blocked meanwhile is not stopped") {
  const auto running = start_running("thread");
  REQUIRE(running);
  const pid_t main = running->victim.pid();
  REQUIRE(running->victim.wait_syscall(test::kPauseCall));
  const auto target = LiveTarget::open(main);
  REQUIRE(target);
  const std::vector<ThreadState> seen = {as_running(main), as_running(running->tid)};
  std::size_t looks = 0;
  const auto stop = (*target)->while_stopped(seen, kPatience,
                                             [&looks](std::span<const StopAttempt>) { ++looks; });
  REQUIRE(stop);
  CHECK(stop->threads.at(0).end == StopEnd::kSpared);
  CHECK(stop->threads.at(1).end == StopEnd::kHeld);
  CHECK(looks == 1);

  const auto nobody = (*target)->while_stopped(std::span(seen).first(1), kPatience,
                                               [&looks](std::span<const StopAttempt>) { ++looks; });
  REQUIRE(nobody);
  CHECK(nobody->held == 0);
  CHECK(looks == 1);
  CHECK(goes_on(*running));
}

TEST_CASE("stop: a thread that was already seen blocked yields its call and its registers") {
  auto victim = Victim::start({test::victim_path("frames"), "threads"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(test::kPauseCall));
  const auto target = LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto seen = (*target)->thread(victim->pid());
  REQUIRE(seen);
  const StopAttempt held = stop_one(**target, *seen);
  REQUIRE(held.end == StopEnd::kHeld);
  CHECK(held.thread.state == 'S');
  REQUIRE(held.thread.syscall);
  CHECK(held.thread.syscall->number == test::kPauseCall);
  CHECK(held.thread.registers->pc == seen->registers->pc);
  CHECK(held.thread.registers->sp == seen->registers->sp);
  CHECK(victim->wait_syscall(test::kPauseCall));
  CHECK(harm_of(victim->pid(), "S").empty());
}

TEST_CASE("stop: a process stopped by SIGSTOP stays so, and goes on at SIGCONT") {
  const auto running = start_running("spin");
  REQUIRE(running);
  running->victim.signal(SIGSTOP);
  REQUIRE(running->victim.wait_state("T"));
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  const auto seen = (*target)->thread(running->tid);
  REQUIRE(seen);
  for (int i = 0; i < 20; ++i) {
    const StopAttempt held = stop_one(**target, *seen);
    REQUIRE(held.end == StopEnd::kHeld);
    CHECK(held.thread.registers->all);
    CHECK(harm_of(running->victim.pid(), "T").empty());
  }
  running->victim.signal(SIGCONT);
  CHECK(goes_on(*running));
  CHECK(harm_of(running->victim.pid(), "R").empty());
}

TEST_CASE("stop: a thread that another process traces is left alone, and the tracer is named") {
  const auto running = start_running("spin");
  REQUIRE(running);
  const OtherTracer tracer(running->tid, false);
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  const StopAttempt attempt = stop_one(**target, as_running(running->tid));
  CHECK(attempt.end == StopEnd::kTraced);
  CHECK(attempt.thread.tracer == tracer.pid());
  CHECK(attempt.why == "it is traced by live_stop (pid " + std::to_string(tracer.pid()) + ")");
  CHECK(goes_on(*running));
}

TEST_CASE("stop: no attempt on a thread in state D or held by another process") {
  auto victim = Victim::start({test::victim_path("blocked"), "vfork"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_state("D"));
  const auto target = LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto seen = (*target)->thread(victim->pid());
  REQUIRE(seen);
  CHECK(stop_one(**target, *seen).end == StopEnd::kSpared);
  CHECK(stop_one(**target, as_running(victim->pid())).end == StopEnd::kSpared);
  CHECK(harm_of(victim->pid(), "D").empty());

  const auto running = start_running("spin");
  REQUIRE(running);
  const OtherTracer tracer(running->tid, true);
  const auto traced = LiveTarget::open(running->victim.pid());
  REQUIRE(traced);
  const auto stopped = (*traced)->thread(running->tid);
  REQUIRE(stopped);
  CHECK(stopped->state == 't');
  CHECK(stop_one(**traced, *stopped).end != StopEnd::kHeld);
}

TEST_CASE("stop: a thread that has exited is gone") {
  auto running = start_running("spin");
  REQUIRE(running);
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  CHECK(stop_one(**target, as_running(1)).end == StopEnd::kGone);  // not of this process
  const ThreadState seen = as_running(running->tid);
  running->victim.kill();
  CHECK(stop_one(**target, seen).end == StopEnd::kGone);
}

TEST_CASE("stop: a process that is killed while it is held exits, and its parent is notified") {
  auto running = start_running("threads");
  REQUIRE(running);
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  std::vector<ThreadState> seen;
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  for (const ThreadState& thread : *threads) {
    seen.push_back(as_running(thread.tid));
  }
  const auto stop = (*target)->while_stopped(
      seen, kPatience, [&](std::span<const StopAttempt>) { running->victim.signal(SIGKILL); });
  REQUIRE(stop);
  CHECK(stop->held > 0);
  const auto status = running->victim.wait_end();
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGKILL);
}

// SIGTERM's default action ends the victim; if the signal were lost, it would run on.
TEST_CASE("stop: a signal that comes while a thread is held is delivered afterwards") {
  auto running = start_running("spin");
  REQUIRE(running);
  const auto target = LiveTarget::open(running->victim.pid());
  REQUIRE(target);
  const ThreadState seen = as_running(running->tid);
  const auto stop = (*target)->while_stopped(
      std::span(&seen, 1), kPatience,
      [&](std::span<const StopAttempt>) { running->victim.signal(SIGTERM); });
  REQUIRE(stop);
  REQUIRE(stop->held == 1);
  const auto status = running->victim.wait_end();
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGTERM);
}

TEST_CASE("stop: stops of a thread in a storm of signals lose none") {
  auto victim = Victim::start({test::victim_path("signals")});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  const auto target = LiveTarget::open(victim->pid());
  REQUIRE(target);
  // On a busy machine most attempts find it at rest.
  const int enough = std::getenv("ODDRANK_FULL") == nullptr ? 400 : 2000;
  int held = 0;
  for (int i = 0; held < enough && i < enough * 50; ++i) {
    held += stop_one(**target, as_running(victim->pid())).end == StopEnd::kHeld ? 1 : 0;
  }
  CHECK(held == enough);
  CHECK(harm_of(victim->pid(), "RS").empty());
  REQUIRE(victim->send("\n"));
  const auto line = victim->wait_line("record");
  REQUIRE(line);
  const auto words = split_blanks(*line);
  CAPTURE(*line);
  REQUIRE(words.size() == 4);
  CHECK(words[0] == words[1]);
  CHECK(words[2] == "0");
  CHECK(words[0] != "0");
  CHECK(words[3] != "0");
}

// The reader may be killed at any time (by a batch system, for want of memory).
TEST_CASE("stop: a reader that dies while it holds a thread loses none of its signals") {
  auto victim = Victim::start({test::victim_path("signals"), "storm"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  const auto target = LiveTarget::open(victim->pid());
  REQUIRE(target);
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t reader = ::fork();
    REQUIRE(reader >= 0);
    if (reader == 0) {
      const std::vector<ThreadState> threads{as_running(victim->pid())};
      static_cast<void>((*target)->while_stopped(threads, kPatience,
                                                 [](std::span<const StopAttempt>) { ::_exit(1); }));
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(reader, &status, 0) == reader);
    held += WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 1 : 0;
  }
  CHECK(held > 100);
  CHECK(harm_of(victim->pid(), "RS").empty());
  REQUIRE(victim->send("\n"));
  const auto line = victim->wait_line("record");
  REQUIRE(line);
  const auto words = split_blanks(*line);
  CAPTURE(*line);
  REQUIRE(words.size() == 4);
  CHECK(words[0] == words[1]);
  CHECK(words[2] == "0");
}

// Why such threads are not stopped; and that the victim's own record shows it.
TEST_CASE("stop: calls that a stop ends early notice it") {
  auto victim = Victim::start({test::victim_path("interrupted")});
  REQUIRE(victim);
  const auto semaphores = victim->wait_line("ready");
  REQUIRE(semaphores);
  const auto target = LiveTarget::open(victim->pid());
  REQUIRE(target);
  const std::map<std::string, long> calls = {{"epoll", test::kEpollWaitCall},
                                             {"recv", SYS_recvfrom},
                                             {"sigtimedwait", SYS_rt_sigtimedwait},
                                             {"semop", SYS_semtimedop}};
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  for (const ThreadState& thread : *threads) {
    const auto call = calls.find(thread.name);
    if (call == calls.end()) {
      continue;
    }
    REQUIRE(victim->wait_syscall(call->second, thread.tid));
    const auto seen = (*target)->thread(thread.tid);
    REQUIRE(seen);
    CHECK(stop_one(**target, *seen).end == StopEnd::kHeld);
    CHECK(victim->wait_syscall(call->second, thread.tid));
  }
  REQUIRE(victim->send("\n"));
  const auto record = victim->wait_line("record");
  ::semctl(parse_number<int>(*semaphores).value_or(-1), 0, IPC_RMID);
  REQUIRE(record);
  INFO(*record);
  CHECK(record->rfind("epoll 1 recv 1 sigtimedwait 1 semop 1 nanosleep 0 runs ", 0) == 0);
}

}  // namespace
}  // namespace oddrank::attach
