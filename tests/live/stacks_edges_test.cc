// Stacks through code that is described badly or not at all.
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "attach/live_target.h"
#include "tests/live/named_stacks.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

using snapshot::StackEnd;

// Starts a victim; returns when it is stuck in read().
Result<test::Victim> start_stuck(const std::string& program, const std::string& mode) {
  ODDRANK_TRY(auto victim, test::Victim::start({test::victim_path(program), mode}));
  ODDRANK_TRY(const auto line, victim.wait_line("ready"));
  ODDRANK_TRY_STATUS(victim.wait_syscall(SYS_read));
  return victim;
}

Result<snapshot::Capture> read_all(pid_t pid) {
  ODDRANK_TRY(const auto target, attach::LiveTarget::open(pid));
  return test::read_named(*target, test::files_of(*target));
}

std::ptrdiff_t count_heuristic(const snapshot::Capture& capture) {
  const auto frames = test::main_frames(capture);
  return std::count_if(frames.begin(), frames.end(), [](const snapshot::Frame& frame) {
    return (frame.flags & snapshot::kHeuristic) != 0;
  });
}

TEST_CASE("edges: a static program has whole stacks, with an index of its tables and without") {
  for (const char* program : {"frames_static", "frames_static_pie"}) {
    for (const char* mode : {"read", "signal", "altstack"}) {
      CAPTURE(program, mode);
      const auto victim = start_stuck(program, mode);
      REQUIRE(victim);
      const auto capture = read_all(victim->pid());
      REQUIRE(capture);
      const auto names = test::main_names(*capture);
      CAPTURE(names);
      CHECK(test::main_end(*capture) == StackEnd::kComplete);
      CHECK(test::in_order(
          names, {"work::block", "work::inner", "work::middle", "work::outer", "main", "_start"}));
      CHECK(count_heuristic(*capture) == 0);
    }
  }
}

TEST_CASE("edges: assembler without tables is skipped, and its caller marked as a guess") {
  const auto victim = start_stuck("edges", "no_cfi");
  REQUIRE(victim);
  const auto capture = read_all(victim->pid());
  REQUIRE(capture);
  const auto names = test::main_names(*capture);
  CAPTURE(names);
  CHECK(test::main_end(*capture) == StackEnd::kComplete);
  CHECK(test::in_order(names, {"work::block", "no_cfi", "work::inner", "work::outer", "main"}));
  CHECK(count_heuristic(*capture) == 1);
  const auto at = std::find(names.begin(), names.end(), "work::inner") - names.begin();
  const auto frames = test::main_frames(*capture);
  CHECK((frames.at(static_cast<std::size_t>(at)).flags & snapshot::kHeuristic) != 0);
}

TEST_CASE("edges: code made at run time is skipped, with a frame pointer and without") {
  for (const char* mode : {"jit", "jit_bare"}) {
    CAPTURE(mode);
    const auto victim = start_stuck("edges", mode);
    REQUIRE(victim);
    const auto capture = read_all(victim->pid());
    REQUIRE(capture);
    const auto names = test::main_names(*capture);
    CAPTURE(names);
    CHECK(test::main_end(*capture) == StackEnd::kComplete);
    // The code itself has neither name nor module.
    CHECK(test::in_order(names, {"work::block", "", "work::outer", "main"}));
    // Where returns are in a register, callers are found by frame records, and the bare code makes
    // none: that of its caller's caller comes next, as a guess.
    if (std::string_view(mode) == "jit" || test::kReturnAddressInMemory) {
      CHECK(test::in_order(names, {"", "work::inner", "work::outer"}));
    }
    CHECK(count_heuristic(*capture) == 1);
    const auto at = std::find(names.begin(), names.end(), "") - names.begin();
    const auto frame = test::main_frames(*capture).at(static_cast<std::size_t>(at));
    CHECK(frame.file == snapshot::StringId{});
    CHECK(frame.offset > 0x1000);
  }
}

}  // namespace
}  // namespace oddrank::stacks
