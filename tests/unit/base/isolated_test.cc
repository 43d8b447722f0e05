#include "base/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include "base/parse_number.h"
#include "base/unique_fd.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank {
namespace {

using std::chrono::milliseconds;

IsolatedTask saying(const std::string& text) {
  return {[text](int fd) { send_bytes(fd, text); }, milliseconds(20000)};
}

TEST_CASE("results come in the order of the tasks, whichever ends first") {
  std::vector<IsolatedTask> tasks;
  for (int i = 0; i < 20; ++i) {
    tasks.push_back(saying("task " + std::to_string(i)));
  }
  const auto results = run_isolated(tasks, 3);
  REQUIRE(results.size() == 20);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].end == IsolatedEnd::kFinished);
    CHECK(results[i].bytes == "task " + std::to_string(i));
  }
}

TEST_CASE("a task that never returns is killed at its deadline, and its output counts") {
  IsolatedTask stuck{[](int fd) {
                       send_bytes(fd, std::to_string(::getpid()));
                       ::poll(nullptr, 0, -1);
                     },
                     {}};
  // The task must start before the deadline; on a loaded machine that may take several tries.
  std::string bytes;
  for (const milliseconds timeout : {milliseconds(200), milliseconds(2000), milliseconds(20000)}) {
    stuck.timeout = timeout;
    const auto results = run_isolated({stuck, saying("other")}, 2);
    CHECK(results[0].end == IsolatedEnd::kDeadline);
    CHECK(results[1].end == IsolatedEnd::kFinished);
    bytes = results[0].bytes;
    if (!bytes.empty()) {
      break;
    }
  }
  const auto pid = parse_number<pid_t>(bytes);
  REQUIRE(pid);
  CHECK(::kill(*pid, 0) == -1);  // killed and reaped
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("tasks have a time for all of them: what was done by then counts") {
  const IsolatedTask quick{[](int fd) { send_bytes(fd, "done"); },
                           std::chrono::milliseconds(20000)};
  const IsolatedTask endless{[](int) { ::pause(); }, std::chrono::milliseconds(20000)};
  const std::vector<IsolatedTask> tasks{quick, endless, quick, endless, quick};
  const auto began = std::chrono::steady_clock::now();
  const auto results = run_isolated(tasks, 1, kMaxOutput, std::chrono::milliseconds(700));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
  CHECK(results[0].end == IsolatedEnd::kFinished);
  CHECK(results[0].bytes == "done");
  for (const std::size_t i : {1U, 2U, 3U, 4U}) {
    CHECK(results[i].end == IsolatedEnd::kNoTime);
  }
}

TEST_CASE("a task that had half of its time when that of all is over has missed its deadline") {
  const IsolatedTask endless{[](int) { ::pause(); }, std::chrono::milliseconds(1000)};
  const auto results = run_isolated({endless}, 1, kMaxOutput, std::chrono::milliseconds(700));
  CHECK(results[0].end == IsolatedEnd::kDeadline);
}

TEST_CASE("time in which all processes stood still does not count for the task") {
  constexpr milliseconds kTimeout(2000);
  std::array<int, 2> begun{};
  std::array<int, 2> go{};
  REQUIRE(::pipe(begun.data()) == 0);
  REQUIRE(::pipe(go.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {  // becomes a group of its own, with its task
    ::setpgid(0, 0);
    const IsolatedTask task{[&](int fd) {
                              char octet = 'x';
                              const bool gone_on = ::write(begun[1], &octet, 1) == 1 &&
                                                   ::read(go[0], &octet, 1) == 1;
                              send_bytes(fd, gone_on ? "gone on" : "");
                            },
                            kTimeout};
    const auto results = run_isolated({task}, 1);
    ::_exit(results[0].end == IsolatedEnd::kFinished && results[0].bytes == "gone on" ? 0 : 1);
  }
  char octet = '?';
  CHECK(::read(begun[0], &octet, 1) == 1);
  CHECK(::kill(-pid, SIGSTOP) == 0);
  int status = 0;
  CHECK(::waitpid(pid, &status, WUNTRACED) == pid);
  ::poll(nullptr, 0, static_cast<int>(kTimeout.count()) + 500);
  CHECK(::kill(-pid, SIGCONT) == 0);
  CHECK(::write(go[1], &octet, 1) == 1);
  CHECK(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  for (const int fd : {begun[0], begun[1], go[0], go[1]}) {
    ::close(fd);
  }
}

TEST_CASE("a task that closes its pipe and goes on is killed as well") {
  const IsolatedTask lingering{[](int fd) {
                                 ::close(fd);
                                 ::poll(nullptr, 0, -1);
                               },
                               milliseconds(20000)};
  const auto results = run_isolated({lingering}, 1);
  CHECK(results[0].end == IsolatedEnd::kCrashed);
  CHECK(results[0].took < std::chrono::seconds(10));
}

TEST_CASE("a crash differs from an exit, and names its signal") {
  const IsolatedTask crash{[](int fd) {
                             send_bytes(fd, "before");
                             ::raise(SIGKILL);
                           },
                           milliseconds(20000)};
  const auto results = run_isolated({crash}, 1);
  CHECK(results[0].end == IsolatedEnd::kCrashed);
  CHECK(results[0].signal == SIGKILL);
  CHECK(results[0].bytes == "before");
}

TEST_CASE("a task that writes too much is killed at the limit") {
  const IsolatedTask flood{[](int fd) {
                             while (send_bytes(fd, std::string(65536, 'x'))) {
                             }
                           },
                           milliseconds(20000)};
  const auto results = run_isolated({flood}, 1, std::size_t{1} << 20);
  CHECK(results[0].end == IsolatedEnd::kCrashed);
  CHECK(results[0].bytes.size() < std::size_t{2} << 20);
}

// What a confined child answers to each call that a parser has no use for.
std::string refused_calls(const Freedom& may) {
  const IsolatedTask task{
      [](int fd) {
        const auto say = [fd](const char* what, bool refused) {
          send_bytes(fd, std::string(what) + (refused ? "" : "!") + " ");
        };
        const UniqueFd inet(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        say("socket", !inet.valid() && errno == EPERM);
        const UniqueFd file(::open("/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        say("create", !file.valid() && errno == EPERM);
        say("remove", ::unlink("/nonexistent/x") != 0 && errno == EPERM);
        char program[] = "/nonexistent/x";
        char* argv[] = {program, nullptr};
        say("exec", ::execv(program, argv) != 0 && errno == EPERM);
        say("poke", ::ptrace(PTRACE_POKEDATA, 1, nullptr, nullptr) != 0 && errno == EPERM);
        const UniqueFd read(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        say(read.valid() ? "reads" : "reads nothing", true);
        say("privileges", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
      },
      milliseconds(20000), may};
  return run_isolated({task}, 1).front().bytes;
}

// A task that sends the pid of its child.
IsolatedTask pid_of(std::uint64_t owner) {
  return {
      [](int fd) { send_bytes(fd, std::to_string(::getpid())); }, milliseconds(20000), {}, owner};
}

TEST_CASE("tasks of one owner share children, and nobody else has a part in them") {
  std::vector<IsolatedTask> tasks;
  for (int i = 0; i < 30; ++i) {
    tasks.push_back(pid_of(i % 3 == 2 ? kNoOwner : static_cast<std::uint64_t>(i % 3)));
  }
  std::map<std::string, std::set<std::uint64_t>> owners;  // by the child's pid
  std::set<std::string> alone;
  const auto results = run_isolated(tasks, 2);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].end == IsolatedEnd::kFinished);
    owners[results[i].bytes].insert(tasks[i].owner);
    if (tasks[i].owner == kNoOwner) {
      alone.insert(results[i].bytes);
    }
  }
  CHECK(alone.size() == 10);
  CHECK(owners.size() < 30);
  for (const auto& [pid, of] : owners) {
    CHECK(of.size() == 1);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a task whose child dies or blocks takes no other one with it") {
  std::vector<IsolatedTask> tasks;
  for (int i = 0; i < 12; ++i) {
    tasks.push_back(pid_of(7));
  }
  tasks[2].run = [](int fd) {
    send_bytes(fd, "before");
    ::raise(SIGKILL);
  };
  tasks[4].run = [](int fd) {
    send_bytes(fd, "before");
    ::poll(nullptr, 0, -1);
  };
  tasks[4].timeout = milliseconds(200);
  tasks[6].run = [](int fd) { ::close(fd); };
  tasks[8].run = [](int fd) { send_bytes(fd, std::string(std::size_t{1} << 20, 'x')); };
  const auto results = run_isolated(tasks, 2, std::size_t{4} << 20);
  for (const std::size_t i : {0U, 1U, 3U, 5U, 7U, 9U, 10U, 11U}) {
    CHECK(results[i].end == IsolatedEnd::kFinished);
    CHECK(parse_number<pid_t>(results[i].bytes));
  }
  CHECK(results[2].end == IsolatedEnd::kCrashed);
  CHECK(results[2].signal == SIGKILL);
  CHECK(results[2].bytes == "before");
  CHECK(results[4].end == IsolatedEnd::kDeadline);
  CHECK(results[6].bytes.empty());
  CHECK(results[8].bytes == std::string(std::size_t{1} << 20, 'x'));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a task that is held up does not hold up those behind it") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  IsolatedTask blocked = pid_of(7);
  blocked.run = [from = ends[0]](int fd) {  // until the last task has run
    char octet = '?';
    send_bytes(fd, ::read(from, &octet, 1) == 1 ? "released" : "");
  };
  IsolatedTask last = pid_of(7);
  last.run = [to = ends[1]](int fd) {
    send_bytes(to, "x");
    send_bytes(fd, "last");
  };
  const auto results = run_isolated({blocked, pid_of(7), last}, 1);
  CHECK(results[0].bytes == "released");
  CHECK(results[2].bytes == "last");
}

TEST_CASE("a pending task runs while others do, and its output counts even after its time") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd done(ends[0]);
  const UniqueFd writing(ends[1]);
  IsolatedTask task = saying("early");
  task.timeout = milliseconds(0);
  task.run = [fd = ends[1]](int output) {
    send_bytes(output, "early");
    send_bytes(fd, "x");
  };
  PendingTask pending(task);
  CHECK(run_isolated({saying("other")}, 1).front().bytes == "other");
  char byte = 0;
  REQUIRE(::read(done.get(), &byte, 1) == 1);  // it has sent its answer
  CHECK(pending.finish().bytes == "early");
}

TEST_CASE("a pending task that has ended in time is finished, however late it is waited for") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd gone(ends[0]);
  UniqueFd held(ends[1]);
  IsolatedTask task = saying("early");
  task.timeout = milliseconds(0);
  PendingTask pending(task);
  held.reset();
  char byte = 0;
  REQUIRE(::read(gone.get(), &byte, 1) == 0);  // the child, which has the other end, is gone
  const IsolatedResult result = pending.finish();
  CHECK(result.end == IsolatedEnd::kFinished);
  CHECK(result.bytes == "early");
}

TEST_CASE("a pending task whose output fills the pipe goes on once it is waited for") {
  const std::string text(std::size_t{1} << 20, 'x');
  PendingTask pending(saying(text));
  const IsolatedResult result = pending.finish();
  CHECK(result.end == IsolatedEnd::kFinished);
  CHECK(result.bytes == text);
}

TEST_CASE("a pending task that nobody waits for is killed") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  {
    const PendingTask pending({[fd = ends[1]](int) {
                                 send_bytes(fd, "begun");
                                 ::poll(nullptr, 0, -1);
                               },
                               milliseconds(60000)});
    std::array<char, 8> begun{};
    REQUIRE(::read(output.get(), begun.data(), begun.size()) == 5);
  }
  input.reset();
  char byte = 0;
  CHECK(::read(output.get(), &byte, 1) == 0);  // the child, which has the other end, is gone
}

TEST_CASE("a child may do no more than its task needs") {
  ODDRANK_NEEDS_KERNEL();
  CHECK(refused_calls({}) == "socket create remove exec poke reads privileges ");
  CHECK(refused_calls({.sockets = true}) == "socket! create remove exec poke reads privileges ");
  CHECK(refused_calls({.files = true}) == "socket create! remove! exec poke reads privileges ");
  const std::string all = refused_calls({.programs = true});
  CHECK(all.find("exec!") != std::string::npos);
}

TEST_CASE("a child that needs too much memory says so") {
  Freedom may;
  may.memory = std::size_t{64} << 20;
  const IsolatedTask greedy{[](int fd) {
                              send_bytes(fd, "before");
                              std::vector<std::string> all;
                              for (int i = 0; i < 200; ++i) {
                                all.emplace_back(std::size_t{1} << 20, 'x');
                              }
                              send_bytes(fd, all.back());
                            },
                            milliseconds(20000), may};
  const auto results = run_isolated({greedy}, 1);
  if (results[0].bytes.size() > 6) {
    return;  // AddressSanitizer's shadow memory cannot be limited
  }
  CHECK(results[0].end == IsolatedEnd::kNoMemory);
  CHECK(results[0].bytes == "before");
}

}  // namespace
}  // namespace oddrank
