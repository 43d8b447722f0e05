#include "base/programs/run_command.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "tests/support/catch.h"
#include "tests/support/held_naming.h"

namespace oddrank {
namespace {

using std::chrono::milliseconds;

ProgramCall shell(const std::string& script) {
  ProgramCall command;
  command.argv = {"sh", "-c", script};
  return command;
}

Deadline soon() {
  return Deadline::after(milliseconds(20000));
}

// Returns whether the process ends in time: it is gone, or a zombie that init has yet to reap.
bool ends(pid_t pid) {
  const Deadline deadline = soon();
  while (!deadline.passed()) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat || stat->find(") Z ") != std::string::npos) {
      return true;
    }
    ::usleep(2000);
  }
  return false;
}

TEST_CASE("a command's outputs and exit status come back") {
  const auto output = run_command(shell("echo out; echo err >&2; exit 3"), soon());
  REQUIRE(output);
  CHECK(output->out == "out\n");
  CHECK(output->err == "err\n");
  CHECK(output->exit.code == 3);
  CHECK_FALSE(output->timed_out);
  const auto killed = run_command(shell("kill -KILL $$"), soon());
  REQUIRE(killed);
  CHECK(killed->exit.signal == SIGKILL);
  CHECK_FALSE(killed->exit.success());
}

TEST_CASE("a locale that is not installed does not matter") {
  const std::string before = ::getenv("LC_ALL") == nullptr ? "" : ::getenv("LC_ALL");
  ::setenv("LC_ALL", "xx_YY.UTF-8", 1);
  const auto output = run_command(shell("echo out"), soon());
  ::setenv("LC_ALL", before.c_str(), 1);  // empty: as if it were not set
  REQUIRE(output);
  CHECK(output->out == "out\n");
}

TEST_CASE("the working folder is no place for programs, whatever PATH says") {
  const char* const path = ::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  std::string folder = "/tmp/oddrank-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string program = folder + "/oddrank-test-scontrol";
  REQUIRE(::symlink("/bin/true", program.c_str()) == 0);
  const int here = ::open(".", O_RDONLY | O_CLOEXEC);
  REQUIRE(::chdir(folder.c_str()) == 0);
  ProgramCall command;
  command.argv = {"oddrank-test-scontrol"};
  for (const char* value : {"", ":/usr/bin", "/usr/bin:", ".:/usr/bin"}) {
    ::setenv("PATH", value, 1);
    CHECK_FALSE(run_command(command, soon()));
  }
  ::setenv("PATH", folder.c_str(), 1);
  CHECK(run_command(command, soon()));
  ::setenv("PATH", before.c_str(), 1);
  CHECK(::fchdir(here) == 0);
  ::close(here);
  ::unlink(program.c_str());
  ::rmdir(folder.c_str());
}

TEST_CASE("a program that is not there is named") {
  ProgramCall command;
  command.argv = {"oddrank-no-such-program"};
  const auto output = run_command(command, soon());
  REQUIRE_FALSE(output);
  CHECK(output.error().code == Errc::kNotFound);
  CHECK(output.error().what == "oddrank-no-such-program is not on PATH");
  command.argv = {"/no/such/program"};
  const auto by_path = run_command(command, soon());
  REQUIRE_FALSE(by_path);
  CHECK(by_path.error().code == Errc::kNotFound);
  CHECK(by_path.error().what == "cannot start /no/such/program: no such file or directory");
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no zombie is left
  command.argv.clear();
  CHECK_FALSE(run_command(command, soon()));
}

TEST_CASE("a command gets exactly the environment that it is given") {
  ProgramCall command = shell("echo \"$A|$B|$HOME\"");
  command.environment = {{"A=1 2", "B=x=y", "PATH=/usr/bin:/bin"}};
  CHECK(run_command(command, soon())->out == "1 2|x=y|\n");
  command.environment.reset();
  ::setenv("A", "inherited", 1);
  ::setenv("B", "", 1);
  CHECK(run_command(command, soon())->out.rfind("inherited||/", 0) == 0);
}

TEST_CASE("stdin is empty, and no shell interprets the arguments") {
  ProgramCall command;
  command.argv = {"cat"};
  CHECK(run_command(command, soon())->out.empty());
  command.argv = {"printf", "%s|", "a b", "$HOME", "*", "", "\"'"};
  CHECK(run_command(command, soon())->out == "a b|$HOME|*||\"'|");
}

TEST_CASE("output is bounded, and excess output does not block") {
  const auto output =
      run_command(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"), soon(), 1000);
  REQUIRE(output);
  CHECK(output->exit.success());
  CHECK(output->out.size() == 1000);
  CHECK(output->err.size() == 1000);
  CHECK(output->cut);
}

TEST_CASE("a deadline ends a command, its children, and processes that ignore SIGTERM") {
  // Both shells must start before the deadline; on a loaded machine that may take several tries.
  std::vector<std::string> pids;
  for (const milliseconds patience : {milliseconds(300), milliseconds(3000), milliseconds(20000)}) {
    const auto began = Deadline::Clock::now();
    const auto output =
        run_command(shell("trap '' TERM; echo $$; sh -c 'echo $$; while :; do sleep 100; done' & "
                          "wait; sleep 100"),
                    Deadline::after(patience));
    const auto took = Deadline::Clock::now() - began;
    REQUIRE(output);
    CHECK(output->timed_out);
    CHECK(took >= patience);
    CHECK(took < patience + milliseconds(15000));
    const auto words = split_blanks(output->out);
    pids.assign(words.begin(), words.end());
    if (pids.size() == 2) {
      break;
    }
  }
  REQUIRE(pids.size() == 2);
  for (const std::string& word : pids) {
    const auto pid = parse_number<pid_t>(word);
    REQUIRE(pid);
    CHECK(ends(*pid));
  }
}

TEST_CASE("a child that keeps the pipe open does not delay us") {
  const auto began = Deadline::Clock::now();
  const auto output = run_command(shell("echo $$; sleep 30 & echo $!"), soon());
  REQUIRE(output);
  CHECK(output->exit.success());
  CHECK(Deadline::Clock::now() - began < milliseconds(15000));
  const auto words = split_blanks(output->out);
  REQUIRE(words.size() == 2);
  const auto sleeper = parse_number<pid_t>(words[1]);
  REQUIRE(sleeper);
  ::kill(*sleeper, SIGKILL);
}

TEST_CASE("a command that goes out of scope is ended; one that was moved is not") {
  pid_t pid = -1;
  {
    auto child = ChildCommand::start(shell("exec sleep 100"));
    REQUIRE(child);
    pid = child->pid();
    ChildCommand other = *std::move(child);
    CHECK(child->pid() == -1);  // NOLINT(bugprone-use-after-move): this is what is tested
    CHECK(other.pid() == pid);
    CHECK_FALSE(other.exit_status());
  }
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("a command that must not be killed gets SIGTERM, and is left") {
  ProgramCall command = shell("trap '' TERM; echo ready; exec sleep 100");
  command.never_kill = true;
  auto child = ChildCommand::start(command);
  REQUIRE(child);
  const pid_t pid = child->pid();
  std::string out;
  const OutputSink sink = [&out](OutputStream, std::string_view bytes) { out += bytes; };
  const Deadline deadline = soon();
  while (out.empty() && !deadline.passed()) {
    child->read_output(sink);
    ::usleep(1000);
  }
  CHECK(out == "ready\n");
  CHECK_FALSE(child->stop(milliseconds(50), sink));
  CHECK(::kill(pid, 0) == 0);
  ::kill(pid, SIGKILL);
  while (!child->exit_status() && !deadline.passed()) {
    ::usleep(1000);
  }
  REQUIRE(child->exit_status());
  CHECK(child->exit_status()->signal == SIGKILL);
}

TEST_CASE("a command is killed when the process that started it dies") {
  int ends_of_pipe[2];
  REQUIRE(::pipe(ends_of_pipe) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    auto child = ChildCommand::start(shell("exec sleep 100"));
    const pid_t pid = child ? child->pid() : -1;
    (void)!::write(ends_of_pipe[1], &pid, sizeof(pid));
    ::kill(::getpid(), SIGKILL);
  }
  pid_t pid = -1;
  REQUIRE(::read(ends_of_pipe[0], &pid, sizeof(pid)) == sizeof(pid));
  ::waitpid(parent, nullptr, 0);
  ::close(ends_of_pipe[0]);
  ::close(ends_of_pipe[1]);
  REQUIRE(pid > 0);
  CHECK(ends(pid));
}

TEST_CASE("pipes are not inherited by other children") {
  // Boost.Process's own pipes would be: the first child's would stay open until the second exits.
  auto first = ChildCommand::start(shell("echo one"));
  auto second = ChildCommand::start(shell("exec sleep 100"));
  REQUIRE(first);
  REQUIRE(second);
  const Deadline deadline = soon();
  const OutputSink sink = [](OutputStream, std::string_view) {};
  while (first->read_output(sink) && !deadline.passed()) {
    ::usleep(1000);
  }
  CHECK_FALSE(deadline.passed());
}

// Runs in a child, which is held at the call with all that it starts.
[[noreturn]] void run_readable(int socket) {
  tests::send_fd(socket, tests::hold_naming_of_tracers());
  ProgramCall command = shell("exit 3");
  command.readable_by_us = true;
  const auto output = run_command(command, soon());
  ::_exit(output ? output->exit.code : 1);
}

TEST_CASE("a program that we may read says so before it begins") {
  std::array<int, 2> sockets{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  const UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    run_readable(theirs.get());
  }
  theirs.reset();
  const UniqueFd held = tests::receive_fd(ours.get());
  if (!held.valid()) {
    ::waitpid(child, nullptr, 0);
    ODDRANK_SKIP("the kernel has no seccomp filters that tell another process");
  }
  seccomp_notif call{};
  const bool named = tests::wait_readable(held.get(), soon()) &&
                     ::ioctl(held.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0;
  seccomp_notif_resp answer{};
  answer.id = call.id;
  answer.error = -EINVAL;  // the answer of a kernel without Yama
  const bool answered = named && ::ioctl(held.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
  if (!answered) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(named);
  CHECK(static_cast<pid_t>(call.pid) != child);
  CHECK(static_cast<pid_t>(call.data.args[1]) == child);
  CHECK(answered);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

}  // namespace
}  // namespace oddrank
