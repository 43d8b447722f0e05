#include "attach/task_files.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::attach {
namespace {

// A thread of ours that sleeps in read() of a pipe, and comes back to the same read() when told.
class Sleeper {
 public:
  Sleeper() {
    REQUIRE(::pipe(to_.data()) == 0);
    REQUIRE(::pipe(from_.data()) == 0);
    thread_ = std::thread([this] {
      const pid_t tid = ::gettid();
      REQUIRE(::write(from_[1], &tid, sizeof tid) == sizeof tid);
      char byte = 0;
      while (::read(to_[0], &byte, 1) == 1 && byte != 'q') {
        (void)!::write(from_[1], &byte, 1);
      }
    });
    REQUIRE(::read(from_[0], &tid_, sizeof tid_) == sizeof tid_);
  }
  ~Sleeper() {
    (void)!::write(to_[1], "q", 1);
    thread_.join();
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) {
      ::close(fd);
    }
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  Sleeper(Sleeper&&) = delete;
  Sleeper& operator=(Sleeper&&) = delete;

  pid_t tid() const { return tid_; }
  // Lets it run once.
  void wake() {
    char byte = 'x';
    REQUIRE(::write(to_[1], &byte, 1) == 1);
    REQUIRE(::read(from_[0], &byte, 1) == 1);
  }

 private:
  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t tid_ = 0;
  std::thread thread_;
};

// Reads the thread until it sleeps in read().
ThreadState asleep(TaskFiles& files, pid_t tid) {
  while (true) {
    auto state = files.state(tid);
    REQUIRE(state);
    if (state->state == 'S' && state->syscall && state->syscall->number == SYS_read &&
        state->registers) {
      return *state;
    }
  }
}

void check_motion(TaskFiles& files) {
  Sleeper sleeper;
  const ThreadState before = asleep(files, sleeper.tid());
  const auto still = files.motion(sleeper.tid());
  REQUIRE(still);
  CHECK(still->voluntary_switches == before.voluntary_switches);
  REQUIRE(still->registers);
  CHECK(still->registers->pc == before.registers->pc);
  CHECK(still->registers->sp == before.registers->sp);
  CHECK(still->state == before.state);
  CHECK(still->target_tid == before.target_tid);

  // It comes back to the same call at the same place: only its counts tell.
  sleeper.wake();
  const ThreadState after = asleep(files, sleeper.tid());
  CHECK(after.registers->pc == before.registers->pc);
  CHECK(after.voluntary_switches > before.voluntary_switches);
}

TEST_CASE("task_files: motion tells a thread that has slept on from one that has run") {
  ODDRANK_NEEDS_KERNEL();
  TaskFiles files(::getpid());
  check_motion(files);
  Sleeper sleeper;
  const ThreadState before = asleep(files, sleeper.tid());
  sleeper.wake();
  const auto after = files.motion(sleeper.tid());
  REQUIRE(after);
  CHECK(after->voluntary_switches + after->involuntary_switches >
        before.voluntary_switches + before.involuntary_switches);
}

TEST_CASE("task_files: after the main thread, the others are told as by their status") {
  ODDRANK_NEEDS_KERNEL();
  Sleeper sleeper;
  TaskFiles one(::getpid());
  const ThreadState by_status = asleep(one, sleeper.tid());  // the main thread is not known yet
  TaskFiles files(::getpid());
  REQUIRE(files.state(::getpid()));
  const ThreadState state = asleep(files, sleeper.tid());
  CHECK(state.voluntary_switches == by_status.voluntary_switches);
  CHECK(state.involuntary_switches == by_status.involuntary_switches);
  CHECK(state.target_tid == by_status.target_tid);
  CHECK(state.tracer == 0);
  REQUIRE(state.ran.has_value() == by_status.ran.has_value());
  if (state.ran) {
    CHECK(state.ran->last_run == by_status.ran->last_run);
    CHECK(state.ran->now >= by_status.ran->now);
  }
}

TEST_CASE("task_files: without files to keep open the answers are the same") {
  ODDRANK_NEEDS_KERNEL();
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit few{2, limit.rlim_max};  // half of it may be kept: too few for a thread
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  TaskFiles files(::getpid());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  check_motion(files);
}

TEST_CASE("task_files: a thread that has exited is gone") {
  ODDRANK_NEEDS_KERNEL();
  TaskFiles files(::getpid());
  pid_t tid = 0;
  {
    Sleeper sleeper;
    tid = sleeper.tid();
    (void)asleep(files, tid);
  }
  const auto motion = files.motion(tid);
  REQUIRE_FALSE(motion);
  CHECK(motion.error().code == Errc::kGone);
  CHECK(files.state(0x7ffffff0).error().code == Errc::kGone);
}

}  // namespace
}  // namespace oddrank::attach
