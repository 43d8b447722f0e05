// Owners of the locks that threads of real processes wait for: compares the owner that the wait
// names with the one that the process itself knows.
#include <sys/syscall.h>

#include <optional>
#include <string>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"
#include "tests/support/victim.h"
#include "waits/node/collect_waits.h"

namespace oddrank::waits {
namespace {

using snapshot::Known;
using snapshot::WaitOn;

struct Locked {
  test::Victim victim;
  pid_t owner = 0;  // as the victim prints
  snapshot::Tables tables;
  snapshot::ProcessCapture process;

  const snapshot::Wait& wait() const { return process.threads[0].wait; }
  std::string says() const {
    return aggregate::wait_sentence(
        {}, tables, [](std::uint32_t, pid_t) { return nullptr; }, process, process.threads[0]);
  }
};

// Starts the victim, waits until it blocks, and reads it.
Locked look(const std::string& mode) {
  auto victim = test::Victim::start({test::victim_path("locks"), mode});
  REQUIRE(victim);
  Locked locked{*std::move(victim), 0, {}, {}};
  const auto line = locked.victim.wait_line("ready");
  REQUIRE(line);
  const auto words = split_blanks(*line);
  REQUIRE(words.size() == 2);
  locked.owner = parse_number<pid_t>(words[0]).value_or(-1);
  REQUIRE(locked.victim.wait_syscall(SYS_futex));
  const auto target = attach::LiveTarget::open(locked.victim.pid());
  REQUIRE(target);
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  locked.process.pid = locked.victim.pid();
  for (const auto& thread : *threads) {
    locked.process.threads.emplace_back();
    locked.process.threads.back().tid = thread.tid;
  }
  std::optional<cpython::PythonSample> no_python;
  collect_waits(**target, *threads, no_python, locked.tables, locked.process);
  return locked;
}

void check_owner(const std::string& mode, const std::string& words) {
  const Locked locked = look(mode);
  INFO(mode << ": " << locked.says());
  CHECK(locked.wait().on == WaitOn::kLock);
  CHECK(locked.wait().holder_pid == locked.victim.pid());
  CHECK(locked.wait().holder_tid == locked.owner);
  CHECK(locked.wait().holder_alive == Known::kYes);
  CHECK(locked.says().find(words) == 0);
}

TEST_CASE("every kind of mutex names its owner") {
  check_owner("recursive", "mutex locked by thread ");
  check_owner("timed", "mutex locked by thread ");
  check_owner("robust", "robust mutex locked by thread ");
  check_owner("inheriting", "priority-inheriting mutex locked by thread ");
}

TEST_CASE("a mutex that the waiting thread owns itself names that thread") {
  check_owner("twice", "mutex that this thread has locked itself");
}

TEST_CASE("a read-write lock names its writer, to readers and to writers") {
  check_owner("read", "read-write lock locked by thread ");
  check_owner("write", "read-write lock locked by thread ");
}

TEST_CASE("readers of a read-write lock are counted, not named") {
  const Locked locked = look("readers");
  CHECK(locked.wait().holder_tid == 0);
  CHECK(locked.wait().holder_alive == Known::kUnknown);
  CHECK(locked.says() == "read-write lock held by 2 readers, who are not named in it");
}

TEST_CASE("a stdio stream names the thread that has locked it") {
  check_owner("stream", "lock of a stdio stream locked by thread ");
}

TEST_CASE("a join names the awaited thread") {
  const Locked locked = look("join");
  CHECK(locked.wait().on == WaitOn::kThread);
  CHECK(locked.wait().holder_pid == locked.victim.pid());
  CHECK(locked.wait().holder_tid == locked.owner);
}

TEST_CASE("a condition variable has no owner, though its mutex has been locked") {
  const Locked locked = look("condition");
  CHECK(locked.wait().on == WaitOn::kLock);
  CHECK(locked.wait().holder_tid == 0);
  CHECK(locked.wait().holder_alive == Known::kUnknown);
}

TEST_CASE("a mutex shared by processes names the other process") {
  const Locked locked = look("shared");
  CHECK(locked.wait().on == WaitOn::kLock);
  CHECK(locked.wait().holder_pid == locked.owner);
  CHECK(locked.wait().holder_tid == locked.owner);
  CHECK(locked.wait().holder_alive == Known::kYes);
}

TEST_CASE("a shared mutex whose process has exited: its owner is gone") {
  const Locked locked = look("abandoned");
  CHECK(locked.wait().holder_pid == 0);
  CHECK(locked.wait().holder_tid == 0);
  CHECK(locked.wait().holder_alive == Known::kNo);
  CHECK(locked.wait().lock.owner_tid == locked.owner);
  CHECK(locked.says().find("thread " + std::to_string(locked.owner)) != std::string::npos);
}

}  // namespace
}  // namespace oddrank::waits
