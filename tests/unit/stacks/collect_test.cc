#include "stacks/collect.h"

#include <sys/syscall.h>

#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::stacks {
namespace {

using snapshot::ReadState;
using snapshot::StackEnd;

constexpr std::uint64_t kCode = 0x400000;
constexpr std::uint64_t kStack = 0x7ffe00000000;

attach::ThreadState blocked(pid_t tid) {
  attach::ThreadState state;
  state.tid = tid;
  state.target_tid = tid;
  state.name = "worker";
  state.state = 'S';
  state.cpu_us = 100;
  state.voluntary_switches = 5;
  state.syscall = attach::SyscallState{SYS_read, {}};  // not to be stopped
  state.registers = attach::Registers{};
  state.registers->pc = kCode + 16;
  state.registers->sp = kStack;
  return state;
}

// Adds code without unwind tables and an empty stack: one frame a thread, then the stack ends.
void add_memory(test::FakeTarget& target) {
  attach::Mapping code;
  code.start = kCode;
  code.end = kCode + 4096;
  code.readable = true;
  code.executable = true;
  target.add_mapping(code);
  attach::Mapping stack;
  stack.start = kStack;
  stack.end = kStack + 4096;
  stack.readable = true;
  stack.writable = true;
  stack.path = "[stack]";
  target.add_mapping(stack);
  target.add_memory(attach::Addr{kCode}, std::string(4096, '\0'));
  target.add_memory(attach::Addr{kStack}, std::string(4096, '\0'));
}

struct Collected {
  snapshot::Tables tables;
  snapshot::ProcessCapture process;
  const snapshot::Stack& stack(std::size_t thread, std::size_t sample = 0) const {
    return tables.stack(process.threads[thread].samples[sample].stack);
  }
  std::string why() const { return std::string(tables.text(process.why)); }
};

TEST_CASE("collect: threads that stand still") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({blocked(10), blocked(11)});
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  REQUIRE(collected.process.threads.size() == 2);
  CHECK(collected.process.read == ReadState::kFull);
  CHECK(collected.why().empty());
  CHECK(collected.process.state == 'S');
  CHECK(collected.process.threads[1].tid == 11);
  CHECK(collected.tables.text(collected.process.threads[1].name) == "worker");
  CHECK(collected.process.threads[1].samples[0].cpu_us == 100);
  CHECK(collected.process.threads[1].samples[0].voluntary_switches == 5);
  REQUIRE(collected.stack(0).frames.size() == 1);
  CHECK(collected.stack(0).end == StackEnd::kNoUnwindInfo);
  CHECK(collected.tables.frame(collected.stack(0).frames[0]).offset == kCode + 16);
}

TEST_CASE("collect: a second read adds a sample to each row, and a row for a new thread") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({blocked(10), blocked(11)});
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  target.set_threads({blocked(10), blocked(12)});
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  REQUIRE(collected.process.threads.size() == 3);
  CHECK(collected.process.threads[0].samples.size() == 2);
  CHECK(collected.process.threads[1].samples.size() == 1);
  CHECK(collected.process.threads[2].tid == 12);
}

TEST_CASE("collect: a thread that moves once is read again, one that keeps moving is torn") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({blocked(10), blocked(11)});
  int looks = 0;
  target.on_look([&looks](attach::ThreadState& state) {
    if (state.tid == 10) {  // moves between the first and the second read only
      state.voluntary_switches += looks++ == 0 ? 0 : 1;
    } else {
      state.voluntary_switches = static_cast<std::uint64_t>(looks++) + 100;
    }
  });
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(collected.stack(0).end == StackEnd::kNoUnwindInfo);
  CHECK(collected.process.threads[0].samples[0].voluntary_switches == 6);
  CHECK(collected.stack(1).end == StackEnd::kTorn);
}

TEST_CASE("collect: a thread that runs has no native stack, and that is no error") {
  test::FakeTarget target;
  add_memory(target);
  attach::ThreadState running = blocked(10);
  running.state = 'R';
  running.registers.reset();
  target.set_threads({running, blocked(11)});
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(collected.process.state == 'R');
  CHECK(collected.process.read == ReadState::kFull);
  CHECK(collected.process.threads[0].samples[0].stack == snapshot::StackId{});
  CHECK(collected.stack(1).frames.size() == 1);
}

attach::ThreadState running(pid_t tid) {
  attach::ThreadState state = blocked(tid);
  state.state = 'R';
  state.syscall.reset();
  state.registers.reset();
  return state;
}

// The end of a stack that hold() made: a frame pointer of 0 proves it only where a return address
// must be in memory.
const StackEnd kHeldEnd =
    test::kReturnAddressInMemory ? StackEnd::kComplete : StackEnd::kNoUnwindInfo;

// Sets every register, as a stop does; a frame pointer of 0 ends the stack.
attach::StopEnd hold(attach::ThreadState& thread) {
  thread.registers = attach::Registers{};
  thread.registers->all = true;
  thread.registers->pc = kCode + 32;
  thread.registers->sp = kStack;
  return attach::StopEnd::kHeld;
}

TEST_CASE("collect: only running threads are stopped, together, once a sample") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({running(10), blocked(11), running(12)});
  target.on_stop(hold);
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(target.stops() == std::vector<std::vector<pid_t>>{{10, 12}});
  CHECK(collected.process.read == ReadState::kFull);
  CHECK(collected.process.stopped == 2);
  CHECK(collected.process.longest_stop_us == 250);
  REQUIRE(collected.stack(0).frames.size() == 1);
  CHECK(collected.stack(0).end == kHeldEnd);
  CHECK(collected.stack(1).end == StackEnd::kNoUnwindInfo);
  CHECK(collected.tables.frame(collected.stack(0).frames[0]).offset == kCode + 32);
  CHECK(collected.tables.frame(collected.stack(1).frames[0]).offset == kCode + 16);
  CHECK(collected.process.threads[0].samples[0].state == 'R');
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(target.stops().size() == 2);
  CHECK(collected.process.stopped == 4);
}

TEST_CASE("collect: threads that sleep are never stopped, nor is anything if that is forbidden") {
  test::FakeTarget target;
  add_memory(target);
  target.on_stop(hold);
  Collected collected;
  SECTION("all sleep") {
    target.set_threads({blocked(10), blocked(11)});
    REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  }
  SECTION("--never-stop") {
    target.set_threads({running(10)});
    CollectOptions options;
    options.stop = false;
    REQUIRE(collect_stacks(target, options, collected.tables, collected.process));
    CHECK(collected.process.read == ReadState::kFull);
  }
  SECTION("no native stacks are wanted") {
    target.set_threads({running(10)});
    CollectOptions options;
    options.native = false;
    REQUIRE(collect_stacks(target, options, collected.tables, collected.process));
  }
  SECTION("state D") {
    attach::ThreadState stuck = running(10);
    stuck.state = 'D';
    target.set_threads({stuck});
    REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  }
  CHECK(target.stops().empty());
  CHECK(collected.process.stopped == 0);
}

TEST_CASE("collect: a thread that keeps moving is stopped, unless its call would then fail") {
  test::FakeTarget target;
  add_memory(target);
  attach::ThreadState futex = blocked(10);
  futex.syscall = attach::SyscallState{SYS_futex, {}};
  attach::ThreadState epoll = blocked(11);
  epoll.syscall = attach::SyscallState{test::kEpollWaitCall, {}};
  attach::ThreadState comes_and_goes = blocked(12);
  comes_and_goes.syscall = attach::SyscallState{test::kEpollWaitCall, {}};
  target.set_threads({futex, epoll, comes_and_goes});
  std::uint64_t looks = 0;
  target.on_look([&looks](attach::ThreadState& state) {
    state.voluntary_switches = ++looks;
    if (state.tid == 12 && looks % 2 == 1) {
      state.state = 'R';
      state.syscall.reset();
      state.registers.reset();
    }
  });
  target.on_stop(hold);
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(target.stops() == std::vector<std::vector<pid_t>>{{10}});
  CHECK(collected.stack(0).end == kHeldEnd);
  CHECK(collected.stack(1).end == StackEnd::kTorn);
}

TEST_CASE("collect: a thread that blocked before it could be stopped is read without a stop") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({running(10)});
  bool asked = false;
  target.on_stop([&asked](attach::ThreadState&) {
    asked = true;
    return attach::StopEnd::kSpared;
  });
  target.on_look([&asked](attach::ThreadState& state) {
    if (asked) {
      state = blocked(10);
    }
  });
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(asked);
  CHECK(collected.process.stopped == 0);
  CHECK(collected.process.longest_stop_us == 0);
  REQUIRE(collected.stack(0).frames.size() == 1);
  CHECK(collected.stack(0).end == StackEnd::kNoUnwindInfo);
  CHECK(collected.process.threads[0].samples[0].state == 'S');
}

TEST_CASE("collect: why a thread that runs could not be stopped") {
  test::FakeTarget target;
  add_memory(target);
  target.set_threads({running(10), running(11)});
  target.on_stop([](attach::ThreadState& thread) {
    return thread.tid == 10 ? attach::StopEnd::kTraced : attach::StopEnd::kGone;
  });
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(collected.process.read == ReadState::kPartial);
  CHECK(collected.why() ==
        "no native stack of the main thread: it runs, and could not be stopped: it is traced by "
        "gdb (pid 77)");
  CHECK(collected.process.threads.size() == 2);
}

TEST_CASE("collect: a main thread whose registers are refused makes the reading partial") {
  test::FakeTarget target;
  add_memory(target);
  attach::ThreadState refused = blocked(10);
  refused.registers.reset();
  target.set_threads({refused});
  Collected collected;
  REQUIRE(collect_stacks(target, {}, collected.tables, collected.process));
  CHECK(collected.process.read == ReadState::kPartial);
  CHECK(collected.why() == "no native stack of the main thread: its registers cannot be read");
}

TEST_CASE("collect: a target without threads is gone") {
  const test::FakeTarget target;
  Collected collected;
  const auto status = collect_stacks(target, {}, collected.tables, collected.process);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::kGone);
}

}  // namespace
}  // namespace oddrank::stacks
