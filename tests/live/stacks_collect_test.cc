// Whole stacks of real processes, as the agent reads them: native and Python frames in one order,
// with their names.
#include <sys/syscall.h>

#include <algorithm>
#include <functional>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "elf/symbolize.h"
#include "stacks/collect_options.h"
#include "tests/live/named_stacks.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/name_frames.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

using snapshot::MergeState;
using snapshot::ReadState;
using snapshot::StackEnd;
using test::in_order;
using test::names_of;
using Names = std::vector<std::string>;

Result<snapshot::Capture> read_process(pid_t pid, const CollectOptions& options = {}) {
  ODDRANK_TRY(auto capture, test::read_process(pid, options));
  elf::name_frames(capture, test::open_as_seen);
  return capture;
}

// Reads until the tested fact is true: a thread that waits for the GIL wakes up every 5 ms, and a
// thread that prints releases the GIL meanwhile.
Result<snapshot::Capture> read_until(
    pid_t pid,
    const std::function<bool(const snapshot::ProcessCapture&)>& is_so,
    const CollectOptions& options = {}) {
  ODDRANK_TRY(auto capture,
              test::read_until(
                  pid, [&is_so](const snapshot::Capture& seen) { return is_so(seen.processes[0]); },
                  options));
  elf::name_frames(capture, test::open_as_seen);
  return capture;
}

const snapshot::Stack& stack_of(const snapshot::Capture& capture,
                                const snapshot::ThreadCapture& thread) {
  return capture.tables.stack(thread.samples.back().stack);
}

bool has_python() {
  auto python = test::Victim::start({"python3", "-c", "print('ready', flush=True)"});
  return python && python->wait_line("ready");
}

constexpr const char* kNoPython = "no python3 in PATH";

TEST_CASE("collect: functions of a native program have their names") {
  auto victim = test::Victim::start({test::victim_path("frames"), "read"});
  REQUIRE(victim);
  REQUIRE(victim->wait_syscall(SYS_read));
  const auto capture = read_process(victim->pid());
  REQUIRE(capture);
  const auto& process = capture->processes[0];
  CHECK(process.read == ReadState::kFull);
  CHECK(process.state == 'S');
  REQUIRE(process.threads.size() == 1);
  CHECK(capture->tables.text(process.threads[0].name) == "frames");
  CHECK_FALSE(process.threads[0].has_python);
  const auto& stack = stack_of(*capture, process.threads[0]);
  CHECK(stack.end == StackEnd::kComplete);
  CHECK(stack.merge == MergeState::kNativeOnly);
  const Names names = names_of(*capture, stack);
  CAPTURE(names);
  REQUIRE_FALSE(names.empty());
  CHECK(in_order(names, {"work::block", "work::inner", "work::middle", "work::outer", "main"}));
  CHECK(names.front().find("read") != std::string::npos);
}

TEST_CASE("collect: a stripped program has modules and offsets, and the C library's names") {
  auto victim = test::Victim::start({test::victim_path("frames_stripped"), "read"});
  REQUIRE(victim);
  REQUIRE(victim->wait_syscall(SYS_read));
  const auto capture = read_process(victim->pid());
  REQUIRE(capture);
  const auto& stack = stack_of(*capture, capture->processes[0].threads[0]);
  CHECK(stack.end == StackEnd::kComplete);
  const Names names = names_of(*capture, stack);
  CAPTURE(names);
  CHECK_FALSE(in_order(names, {"work::inner"}));
  CHECK(std::count(names.begin(), names.end(), "") >= 4);
  for (const auto id : stack.frames) {
    const auto& frame = capture->tables.frame(id);
    CHECK_FALSE(capture->tables.text(frame.file).empty());
    CHECK(frame.offset < (std::uint64_t{1} << 32U));
  }
}

TEST_CASE("collect: Python and native frames stand in the order of their calls") {
  if (!has_python()) {
    ODDRANK_SKIP(kNoPython);
  }
  auto victim = test::Victim::start({"python3", "-c", R"(
import time
def load(shard):
    time.sleep(1000)
def train(step):
    list(map(load, [step]))
print('ready', flush=True)
train(7)
)"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(SYS_clock_nanosleep));
  const auto capture = read_process(victim->pid());
  REQUIRE(capture);
  const auto& process = capture->processes[0];
  CAPTURE(std::string(capture->tables.text(process.why)));
  CHECK(process.read == ReadState::kFull);
  CHECK(capture->tables.text(process.python_version).substr(0, 2) == "3.");
  REQUIRE(process.threads.size() == 1);
  CHECK(process.threads[0].has_python);
  const auto& stack = stack_of(*capture, process.threads[0]);
  CHECK(stack.end == StackEnd::kComplete);
  CHECK(stack.merge == MergeState::kMerged);
  const Names names = names_of(*capture, stack);
  CAPTURE(names);
  // map() is native, so load has an evaluation loop of its own.
  CHECK(in_order(names, {"load", "*", "train", "<module>", "*"}));
  const bool has_shard = std::any_of(
      process.threads[0].locals.begin(), process.threads[0].locals.end(),
      [&](const snapshot::FrameLocals& of_frame) {
        const auto& frame = capture->tables.frame(stack.frames.at(of_frame.frame));
        return capture->tables.text(frame.function) == "load" && of_frame.locals.size() == 1 &&
               capture->tables.text(of_frame.locals[0].name) == "shard" &&
               capture->tables.text(of_frame.locals[0].value) == "7";
      });
  CHECK(has_shard);
}

TEST_CASE("collect: the thread that holds the GIL and the one that wants it") {
  if (!has_python()) {
    ODDRANK_SKIP(kNoPython);
  }
  // A call through PyDLL keeps the GIL. The call goes through libffi, which keeps a frame pointer.
  auto victim = test::Victim::start({"python3", "-c", R"(
import ctypes, threading
def spin():
    while True: pass
threading.Thread(target=spin, name='waiter', daemon=True).start()
print('ready', flush=True)
ctypes.PyDLL(None).pause()
)"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(test::kPauseCall));
  const auto capture = read_until(victim->pid(), [](const snapshot::ProcessCapture& process) {
    return process.threads.size() == 2 && process.threads[1].wants_gil;
  });
  REQUIRE(capture);
  const auto& main = capture->processes[0].threads.at(0);
  CHECK(main.holds_gil);
  CHECK_FALSE(main.wants_gil);
  const auto& stack = stack_of(*capture, main);
  const Names names = names_of(*capture, stack);
  CAPTURE(names);
  CHECK(stack.end == StackEnd::kComplete);
  CHECK(stack.merge == MergeState::kMerged);
  CHECK(in_order(names, {"pause", "<module>", "*"}));
  REQUIRE(capture->processes[0].threads.size() == 2);
  const auto& waiter = capture->processes[0].threads[1];
  CHECK_FALSE(waiter.holds_gil);
  CHECK(waiter.wants_gil);
  CHECK(in_order(names_of(*capture, stack_of(*capture, waiter)), {"spin", "*"}));
}

TEST_CASE("collect: a Python thread that runs and may not be stopped shows its Python frames") {
  if (!has_python()) {
    ODDRANK_SKIP(kNoPython);
  }
  auto victim = test::Victim::start({"python3", "-c", R"(
def spin():
    print('ready', flush=True)
    while True: pass
spin()
)"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_state("R"));
  CollectOptions never_stop;
  never_stop.stop = false;
  const auto capture = read_until(
      victim->pid(),
      [](const snapshot::ProcessCapture& process) { return process.threads[0].holds_gil; },
      never_stop);
  REQUIRE(capture);
  const auto& process = capture->processes[0];
  const auto& stack = stack_of(*capture, process.threads.at(0));
  CHECK(process.read == ReadState::kFull);
  CHECK(stack.end == StackEnd::kRunning);
  CHECK(stack.merge == MergeState::kPythonOnly);
  CHECK(names_of(*capture, stack) == Names{"spin", "<module>"});
  CHECK(process.threads.at(0).holds_gil);
}

TEST_CASE("collect: one half alone, if the other is not wanted") {
  if (!has_python()) {
    ODDRANK_SKIP(kNoPython);
  }
  auto victim = test::Victim::start({"python3", "-c", R"(
import time
print('ready', flush=True)
time.sleep(1000)
)"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(SYS_clock_nanosleep));
  CollectOptions no_python;
  no_python.python = false;
  const auto native = read_process(victim->pid(), no_python);
  REQUIRE(native);
  const auto& native_stack = stack_of(*native, native->processes[0].threads[0]);
  CHECK(native_stack.merge == MergeState::kNativeOnly);
  CHECK(native_stack.end == StackEnd::kComplete);
  CHECK(native_stack.frames.size() > 5);

  CollectOptions no_native;
  no_native.native = false;
  const auto python = read_process(victim->pid(), no_native);
  REQUIRE(python);
  CHECK(python->processes[0].read == ReadState::kFull);
  const auto& python_stack = stack_of(*python, python->processes[0].threads[0]);
  CHECK(python_stack.merge == MergeState::kPythonOnly);
  CHECK(names_of(*python, python_stack) == Names{"<module>"});
}

}  // namespace
}  // namespace oddrank::stacks
