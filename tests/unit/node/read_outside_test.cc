// What /proc says of this process itself, of one that has exited, and of one that was reaped.
#include "node/read_outside.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ReadState;

pid_t exited_child(int status) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(status);
  }
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  return pid;
}

TEST_CASE("a live process has its state, one thread, and the reason why it was not read") {
  ODDRANK_NEEDS_KERNEL();
  Capture capture;
  ProcessCapture process;
  process.pid = ::getpid();
  process.why = capture.tables.string("did not answer in 20 s");
  read_from_outside(capture, process);
  CHECK(process.state == 'R');
  CHECK(process.read == ReadState::kPartial);
  REQUIRE(process.threads.size() == 1);
  CHECK(process.threads[0].tid == ::getpid());
  CHECK(process.threads[0].samples.size() == 1);
  CHECK(capture.tables.text(process.why) == "did not answer in 20 s: state R");
}

TEST_CASE("a zombie has its exit status, and no thread") {
  Capture capture;
  ProcessCapture process;
  process.pid = exited_child(3);
  read_from_outside(capture, process);
  CHECK(process.state == 'Z');
  CHECK(process.exit_code == 3 << 8);
  CHECK(process.threads.empty());
  CHECK(process.read == ReadState::kNone);
  ::waitpid(process.pid, nullptr, 0);
}

TEST_CASE("a process that is gone says so") {
  Capture capture;
  ProcessCapture process;
  process.pid = exited_child(0);
  process.state = 'S';  // as it was found
  REQUIRE(::waitpid(process.pid, nullptr, 0) == process.pid);
  read_from_outside(capture, process);
  CHECK(process.state == 'X');
  CHECK(capture.tables.text(process.why) == "it exited while it was being read");
}

TEST_CASE("a process that was never there keeps its reason") {
  Capture capture;
  ProcessCapture process;
  process.pid = exited_child(0);
  process.why = capture.tables.string("it does not exist");
  REQUIRE(::waitpid(process.pid, nullptr, 0) == process.pid);
  read_from_outside(capture, process);
  CHECK(process.state == '?');
  CHECK(capture.tables.text(process.why) == "it does not exist");
}

}  // namespace
}  // namespace oddrank::node
