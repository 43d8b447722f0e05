// Native stacks of real processes, compared with those that the processes found themselves, with
// the C library's own unwinder, just before they got stuck.
#include <sys/syscall.h>

#include <algorithm>
#include <map>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "snapshot/frame.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"
#include "unwind/native_unwind.h"

namespace oddrank::stacks {
namespace {

using snapshot::StackEnd;
using Addresses = std::vector<std::uint64_t>;

// Parses "4711 55d0c0a8 ..." into tid and addresses.
std::pair<pid_t, Addresses> parse_stack(std::string_view line) {
  const auto words = split_blanks(line);
  REQUIRE(words.size() > 2);
  Addresses addresses;
  for (const std::string_view word : std::span(words).subspan(1)) {
    addresses.push_back(parse_number<std::uint64_t>(word, 16).value_or(0));
  }
  return {parse_number<pid_t>(words.front()).value_or(0), addresses};
}

Addresses addresses_of(const unwind::NativeStack& stack) {
  Addresses addresses;
  for (const unwind::NativeFrame& frame : stack.frames) {
    addresses.push_back(frame.pc);
  }
  return addresses;
}

// Compares the frames outside block(), all of which must agree; those inside are the C library's.
void check_same(const unwind::NativeStack& stack, const Addresses& own) {
  const Addresses found = addresses_of(stack);
  REQUIRE(found.size() > own.size());
  CHECK(Addresses(found.end() - std::ptrdiff_t(own.size()) + 1, found.end()) ==
        Addresses(own.begin() + 1, own.end()));
  CHECK(found.size() - own.size() <= 5);
}

// The innermost and the outermost frame may be empty where calls leave the return address in a
// register.
void check_addresses_of_frames(const unwind::NativeStack& stack, std::uint64_t stack_pointer) {
  std::uint64_t last = stack_pointer;
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    const std::uint64_t cfa = stack.frames[i].cfa;
    const bool may_be_empty =
        !test::kReturnAddressInMemory && (i == 0 || i + 1 == stack.frames.size());
    CHECK((cfa > last || (may_be_empty && cfa == last)));
    last = cfa;
  }
}

std::ptrdiff_t count_signal_frames(const unwind::NativeStack& stack) {
  return std::count_if(
      stack.frames.begin(), stack.frames.end(),
      [](const unwind::NativeFrame& frame) { return (frame.flags & snapshot::kSignalFrame) != 0; });
}

struct Found {
  Addresses own;
  unwind::NativeStack stack;
};

// Starts `frames MODE` and reads its main thread once it is stuck.
Result<Found> read_main_thread(const std::string& program, const std::string& mode) {
  ODDRANK_TRY(auto victim, test::Victim::start({test::victim_path(program), mode}));
  ODDRANK_TRY(const auto line, victim.wait_line("stack"));
  ODDRANK_TRY(const auto is_ready, victim.wait_line("ready"));
  ODDRANK_TRY_STATUS(victim.wait_syscall(SYS_read));
  ODDRANK_TRY(const auto target, attach::LiveTarget::open(victim.pid()));
  ODDRANK_TRY(const auto thread, target->thread(victim.pid()));
  elf::ModuleMap modules(*target);
  unwind::NativeUnwinder unwinder(*target, modules);
  return Found{parse_stack(line).second, unwinder.unwind(thread)};
}

TEST_CASE("native stacks: a thread in read(), even without symbols and frame pointers") {
  for (const char* program : {"frames", "frames_stripped", "frames_pointer"}) {
    CAPTURE(program);
    const auto found = read_main_thread(program, "read");
    REQUIRE(found);
    CHECK(found->stack.end == StackEnd::kComplete);
    check_same(found->stack, found->own);
    check_addresses_of_frames(found->stack, 0);
  }
}

TEST_CASE("native stacks: threads that wait for a condition") {
  auto victim = test::Victim::start({test::victim_path("frames"), "threads"});
  REQUIRE(victim);
  std::map<pid_t, Addresses> own;
  for (int i = 0; i < 8; ++i) {
    const auto line = victim->wait_line("stack");
    REQUIRE(line);
    own.insert(parse_stack(*line));
  }
  REQUIRE(victim->wait_line("ready"));
  for (const auto& [tid, addresses] : own) {
    REQUIRE(victim->wait_syscall(SYS_futex, tid));
  }
  const auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  REQUIRE(threads->size() == 9);
  elf::ModuleMap modules(**target);
  unwind::NativeUnwinder unwinder(**target, modules);
  for (const attach::ThreadState& thread : std::span(*threads).subspan(1)) {
    CAPTURE(thread.tid);
    REQUIRE(thread.registers);
    const unwind::NativeStack stack = unwinder.unwind(thread);
    CHECK(stack.end == StackEnd::kComplete);
    check_same(stack, own.at(thread.tid));
    check_addresses_of_frames(stack, thread.registers->sp);
  }
}

TEST_CASE("native stacks: through a signal handler, on the thread's stack and on its own") {
  for (const char* mode : {"signal", "altstack"}) {
    CAPTURE(mode);
    const auto found = read_main_thread("frames", mode);
    REQUIRE(found);
    CHECK(found->stack.end == StackEnd::kComplete);
    check_same(found->stack, found->own);
    CHECK(count_signal_frames(found->stack) == 1);
  }
}

TEST_CASE("native stacks: a very deep stack is cut at the limit, or read to its end") {
  auto victim = test::Victim::start({test::victim_path("frames"), "recursion"});
  REQUIRE(victim);
  const auto line = victim->wait_line("stack");
  REQUIRE(line);
  REQUIRE(victim->wait_syscall(SYS_read));
  const Addresses own = parse_stack(*line).second;
  REQUIRE(own.size() > 10000);
  const auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto thread = (*target)->thread(victim->pid());
  REQUIRE(thread);
  elf::ModuleMap modules(**target);
  unwind::NativeUnwinder unwinder(**target, modules);
  const unwind::NativeStack cut = unwinder.unwind(*thread);
  CHECK(cut.end == StackEnd::kLimit);
  CHECK(cut.frames.size() == 4096);
  const unwind::NativeStack whole = unwinder.unwind(*thread, 20000);
  CHECK(whole.end == StackEnd::kComplete);
  check_same(whole, own);
}

TEST_CASE("native stacks: a thread that runs has none") {
  auto victim = test::Victim::start({test::victim_path("blocked"), "spin"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_state("R"));
  const auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto thread = (*target)->thread(victim->pid());
  REQUIRE(thread);
  elf::ModuleMap modules(**target);
  unwind::NativeUnwinder unwinder(**target, modules);
  const unwind::NativeStack stack = unwinder.unwind(*thread);
  CHECK(stack.frames.empty());
  CHECK(stack.end == StackEnd::kRunning);
}

TEST_CASE("native stacks: a thread in state D is read like any other") {
  auto victim = test::Victim::start({test::victim_path("blocked"), "vfork"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_state("D"));
  const auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  const auto thread = (*target)->thread(victim->pid());
  REQUIRE(thread);
  elf::ModuleMap modules(**target);
  unwind::NativeUnwinder unwinder(**target, modules);
  const unwind::NativeStack stack = unwinder.unwind(*thread);
  REQUIRE_FALSE(stack.frames.empty());
  if (stack.end == StackEnd::kNoUnwindInfo && !test::kReturnAddressInMemory) {
    return;  // vfork() has kept nothing on the stack
  }
  CHECK(stack.end == StackEnd::kComplete);
  CHECK(stack.frames.size() >= 4);
}

}  // namespace
}  // namespace oddrank::stacks
