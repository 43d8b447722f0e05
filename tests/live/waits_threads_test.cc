// Waits of threads of real processes, compared with what those processes know themselves.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "snapshot/capture.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"
#include "tests/support/victim.h"
#include "waits/node/collect_waits.h"
#include "waits/node/stuck_processes.h"

namespace oddrank::waits {
namespace {

using snapshot::Known;
using snapshot::WaitOn;

// A folder of its own for the files of one test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "oddrank-waits-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) != nullptr ? name : std::string();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string fifo(const std::string& name) const {
    ::mkfifo(file(name).c_str(), 0600);
    return file(name);
  }

 private:
  std::string path_;
};

struct Seen {
  snapshot::Tables tables;
  snapshot::ProcessCapture process;

  const snapshot::Wait& wait() const { return process.threads[0].wait; }
  std::string text(snapshot::StringId id) const { return std::string(tables.text(id)); }
  std::string path() const { return text(wait().path); }
  std::string says() const {
    return aggregate::wait_sentence(
        {}, tables, [](std::uint32_t, pid_t) { return nullptr; }, process, process.threads[0]);
  }
  std::string syscall() const { return text(wait().syscall_name); }
};

Seen look(pid_t pid) {
  Seen seen;
  seen.process.pid = pid;
  seen.process.threads.emplace_back();
  seen.process.threads[0].tid = pid;
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  std::optional<cpython::PythonSample> no_python;
  collect_waits(**target, *threads, no_python, seen.tables, seen.process);
  return seen;
}

struct Waiting {
  test::Victim victim;
  int number = 0;  // what the victim printed after "ready"
};

Waiting start(const std::string& mode, long syscall, const std::string& file = {}) {
  auto victim = test::Victim::start({test::victim_path("waiting"), mode, file});
  REQUIRE(victim);
  const auto line = victim->wait_line("ready");
  REQUIRE(line);
  const auto number = parse_number<int>(*line);
  REQUIRE(number);
  const auto blocked = victim->wait_syscall(syscall);
  INFO((blocked ? "" : blocked.error().what));
  REQUIRE(blocked);
  return {*std::move(victim), *number};
}

TEST_CASE("pipes") {
  const Waiting reader = start("read-pipe", SYS_read);
  Seen seen = look(reader.victim.pid());
  CHECK(seen.wait().on == WaitOn::kPipe);
  CHECK(seen.wait().fd == reader.number);
  CHECK(seen.syscall() == "read");
  CHECK(seen.path().find("pipe:[") == 0);
  CHECK(seen.text(seen.wait().wchan).find("pipe_read") != std::string::npos);

  const Waiting writer = start("write-pipe", SYS_write);
  seen = look(writer.victim.pid());
  CHECK(seen.wait().on == WaitOn::kPipe);
  CHECK(seen.wait().fd == writer.number);
  CHECK(seen.syscall() == "write");
}

TEST_CASE("a FIFO is named by its path, read or opened") {
  const Folder folder;
  const std::string path = folder.fifo("shard-7.tar");
  const Waiting reader = start("read-fifo", SYS_read, path);
  Seen seen = look(reader.victim.pid());
  CHECK(seen.wait().on == WaitOn::kFile);
  CHECK(seen.wait().fd == reader.number);
  CHECK(seen.path() == path);
  CHECK(seen.says().find("in read() of " + path + " (a FIFO") == 0);

  const std::string other = folder.fifo("shard-8.tar");
  const Waiting opener = start("open-fifo", SYS_openat, other);
  seen = look(opener.victim.pid());
  CHECK(seen.wait().on == WaitOn::kFile);
  CHECK(seen.path() == other);
  CHECK(seen.says().find("a FIFO that nobody has open") != std::string::npos);
}

TEST_CASE("sockets") {
  const Waiting receiver = start("recv", SYS_recvfrom);
  Seen seen = look(receiver.victim.pid());
  CHECK(seen.wait().on == WaitOn::kSocket);
  CHECK(seen.wait().fd == receiver.number);
  CHECK(seen.path().find("socket:[") == 0);
  CHECK(seen.syscall() == "recvfrom");

  const Waiting listener = start("accept", SYS_accept);
  CHECK(look(listener.victim.pid()).wait().on == WaitOn::kSocket);
  const Waiting client = start("connect", SYS_connect);
  seen = look(client.victim.pid());
  CHECK(seen.wait().on == WaitOn::kSocket);
  CHECK(seen.wait().fd == client.number);
  CHECK(seen.syscall() == "connect");
}

TEST_CASE("an event counter has a name but no kind") {
  const Waiting reader = start("eventfd", SYS_read);
  const Seen seen = look(reader.victim.pid());
  CHECK(seen.wait().on == WaitOn::kUnknown);
  CHECK(seen.path() == "anon_inode:[eventfd]");
}

TEST_CASE("poll, select and epoll of one pipe") {
  const Waiting poller = start("poll", test::kPollCall);
  Seen seen = look(poller.victim.pid());
  CHECK(seen.wait().on == WaitOn::kPipe);
  CHECK(seen.wait().fd == poller.number);

  const Waiting selector = start("select", SYS_pselect6);
  seen = look(selector.victim.pid());
  CHECK(seen.wait().on == WaitOn::kPipe);
  CHECK(seen.wait().fd == selector.number);

  const Waiting epoller = start("epoll", test::kEpollWaitCall);
  seen = look(epoller.victim.pid());
  CHECK(seen.wait().on == WaitOn::kPipe);
  CHECK(seen.wait().fd == epoller.number);
}

TEST_CASE("poll of two kinds lists both") {
  const Waiting poller = start("poll-two", test::kPollCall);
  const Seen seen = look(poller.victim.pid());
  CHECK(seen.wait().on == WaitOn::kUnknown);
  CHECK(seen.says().find("pipe:[") != std::string::npos);
  CHECK(seen.says().find("socket:[") != std::string::npos);
  CHECK(seen.wait().limit_ms == 3'600'000);
}

TEST_CASE("time and signals") {
  const Waiting sleeper = start("sleep", SYS_clock_nanosleep);
  Seen seen = look(sleeper.victim.pid());
  CHECK(seen.wait().on == WaitOn::kUnknown);
  CHECK(seen.says().starts_with("sleeps (clock_nanosleep)"));
  CHECK(seen.wait().limit_ms > 0);
  const Waiting waiter = start("signal", SYS_rt_sigtimedwait);
  seen = look(waiter.victim.pid());
  CHECK(seen.wait().on == WaitOn::kSignal);
}

TEST_CASE("children") {
  const Waiting parent = start("wait4", SYS_wait4);
  Seen seen = look(parent.victim.pid());
  CHECK(seen.wait().on == WaitOn::kChild);
  CHECK(seen.wait().holder_pid == parent.number);
  CHECK(seen.wait().holder_alive == Known::kYes);

  const Waiting any = start("wait-any", SYS_wait4);
  seen = look(any.victim.pid());
  CHECK(seen.wait().on == WaitOn::kChild);
  CHECK(seen.wait().holder_pid == 0);
}

TEST_CASE("state D in vfork is a wait for a child") {
  const Waiting parent = start("vfork", test::kVforkCall);
  REQUIRE(parent.victim.wait_state("D"));
  const Seen seen = look(parent.victim.pid());
  CHECK(seen.wait().on == WaitOn::kChild);
  CHECK(seen.says().find("state D") != std::string::npos);
}

TEST_CASE("file locks name their holder") {
  const Folder folder;
  const Waiting by_flock = start("flock", SYS_flock, folder.file("a.lock"));
  Seen seen = look(by_flock.victim.pid());
  CHECK(seen.wait().on == WaitOn::kFileLock);
  CHECK(seen.path() == folder.file("a.lock"));
  CHECK(seen.wait().holder_pid == by_flock.number);
  CHECK(seen.wait().holder_alive == Known::kYes);

  const Waiting by_fcntl = start("lockf", SYS_fcntl, folder.file("b.lock"));
  seen = look(by_fcntl.victim.pid());
  CHECK(seen.wait().on == WaitOn::kFileLock);
  CHECK(seen.path() == folder.file("b.lock"));
  CHECK(seen.wait().holder_pid == by_fcntl.number);
}

TEST_CASE("a mutex names the thread that has locked it") {
  const Waiting waiter = start("mutex", SYS_futex);
  const Seen seen = look(waiter.victim.pid());
  CHECK(seen.wait().on == WaitOn::kLock);
  CHECK(seen.wait().address != 0);
  CHECK(seen.wait().holder_pid == waiter.victim.pid());
  CHECK(seen.wait().holder_tid == waiter.number);
}

TEST_CASE("a mutex that a fork has left locked: no thread here can release it") {
  auto victim = test::Victim::start({test::victim_path("waiting"), "inherited"});
  REQUIRE(victim);
  const auto line = victim->wait_line("ready");
  REQUIRE(line);
  const auto child = parse_number<pid_t>(*line);
  REQUIRE(child);
  REQUIRE(victim->wait_syscall(SYS_futex, *child));
  const Seen seen = look(*child);
  CHECK(seen.wait().on == WaitOn::kLock);
  CHECK(seen.wait().holder_tid == 0);
  CHECK(seen.wait().holder_alive == Known::kNo);
  CHECK(seen.says().find("left behind by a fork") != std::string::npos);
}

TEST_CASE("a semaphore has no owner") {
  const Waiting waiter = start("semaphore", SYS_futex);
  const Seen seen = look(waiter.victim.pid());
  CHECK(seen.wait().on == WaitOn::kLock);
  CHECK(seen.wait().holder_tid == 0);
  CHECK(seen.wait().holder_alive == Known::kUnknown);
}

TEST_CASE("stopped by SIGSTOP") {
  auto victim = test::Victim::start({test::victim_path("waiting"), "stop"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_state("T"));
  const Seen seen = look(victim->pid());
  CHECK(seen.wait().on == WaitOn::kSignal);
  CHECK(seen.says().find("SIGSTOP") != std::string::npos);
}

TEST_CASE("other processes of the node in state D at the same place are counted") {
  auto first = test::Victim::start({test::victim_path("blocked"), "vfork"});
  auto second = test::Victim::start({test::victim_path("blocked"), "vfork"});
  REQUIRE(first);
  REQUIRE(second);
  for (test::Victim* victim : {&*first, &*second}) {
    REQUIRE(victim->wait_line("ready"));
    REQUIRE(victim->wait_state("D"));
    // Since Linux 6.12 a thread that has just gone to sleep may stay in its CPU's queue for a
    // while, and has no wchan until it leaves. Reading its call removes it from the queue.
    REQUIRE(victim->wait_syscall(test::kVforkCall));
  }
  Seen seen = look(first->pid());
  snapshot::Capture capture;
  capture.tables = std::move(seen.tables);
  seen.process.threads[0].samples.emplace_back().state = 'D';
  capture.processes.push_back(std::move(seen.process));
  count_uninterruptible(capture);
  const std::string words =
      tests::sentence_of(capture, capture.processes[0], capture.processes[0].threads[0]);
  INFO(words);
  CHECK(words.find("state D") != std::string::npos);
  CHECK(words.find(" other process") != std::string::npos);  // this or another test's
  CHECK(words.find(" of this node") != std::string::npos);
}

TEST_CASE("the row of a thread that is gone is left alone") {
  const Waiting reader = start("read-pipe", SYS_read);
  Seen seen;
  seen.process.pid = reader.victim.pid();
  seen.process.threads.emplace_back();
  seen.process.threads[0].tid = 1 << 23;  // above every tid
  const auto target = attach::LiveTarget::open(reader.victim.pid());
  REQUIRE(target);
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  std::optional<cpython::PythonSample> no_python;
  collect_waits(**target, *threads, no_python, seen.tables, seen.process);
  CHECK(seen.process.threads[0].wait == snapshot::Wait{});
}

}  // namespace
}  // namespace oddrank::waits
