// Inlined functions of a live process, from the program's own DWARF and from a separate file.
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>

#include "attach/live_target.h"
#include "base/read_file.h"
#include "elf/inlines.h"
#include "tests/live/named_stacks.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

constexpr auto kNever = [] { return false; };

Result<snapshot::Capture> read_stuck(const std::string& program, bool with_debug_file) {
  ODDRANK_TRY(auto victim, test::Victim::start({test::victim_path(program)}));
  ODDRANK_TRY(const auto line, victim.wait_line("ready"));
  ODDRANK_TRY_STATUS(victim.wait_syscall(SYS_read));
  ODDRANK_TRY(const auto target, attach::LiveTarget::open(victim.pid()));
  auto files = test::files_of(*target);
  if (with_debug_file) {
    files.debug = [](pid_t, const std::string&) {
      const std::string path = test::victim_path("inlined_bare.debug");
      return Result<UniqueFd>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    };
  }
  ODDRANK_TRY(auto capture, test::read_named(*target, files));
  if (!elf::add_inlined_frames(capture, files, kNever)) {
    return fail(Errc::kTimeout, "it took too long");
  }
  return capture;
}

// Returns the line of the victim's source that ends with this mark.
std::uint32_t line_of(const std::string& mark) {
  const auto text = read_file(test::victim_script("inlined.cc")).value_or("");
  const auto at = text.find("// " + mark + "\n");
  REQUIRE(at != std::string::npos);
  return static_cast<std::uint32_t>(
             std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n')) +
         1;
}

void check_inlined(const snapshot::Capture& capture) {
  const auto names = test::main_names(capture);
  CAPTURE(names);
  const auto frames = test::main_frames(capture);
  const auto first = static_cast<std::size_t>(std::find(names.begin(), names.end(), "work::block") -
                                              names.begin() + 1);
  REQUIRE(first + 3 < names.size());
  const std::vector<std::string> wanted = {"work::Queue::take", "work::wait_for_batch",
                                           "work::train"};
  const std::vector<std::string> marks = {"take", "wait_for_batch", "train"};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const snapshot::Frame& frame = frames[first + i];
    CAPTURE(i);
    CHECK(names[first + i] == wanted[i]);
    CHECK(((frame.flags & snapshot::kInlined) != 0) == (i < 2));
    CHECK(frame.line == line_of(marks[i]));
    CHECK(capture.tables.text(frame.source).ends_with("/tests/victims/inlined.cc"));
    CHECK(frame.offset == frames[first + 2].offset);
    CHECK(capture.tables.text(frame.file).find("/inlined") != std::string_view::npos);
  }
  CHECK(names[first + 3] == "main");
}

TEST_CASE("inlines: functions without frames of their own, and lines") {
  const auto capture = read_stuck("inlined", false);
  REQUIRE(capture);
  check_inlined(*capture);
}

TEST_CASE("inlines: from a separate debug file of the same build") {
  const auto capture = read_stuck("inlined_bare", true);
  REQUIRE(capture);
  check_inlined(*capture);
}

TEST_CASE("inlines: a debug file of another build is not used") {
  const auto capture = read_stuck("frames_stripped", true);
  REQUIRE(capture);
  for (const auto& frame : test::main_frames(*capture)) {
    const bool is_libc =
        capture->tables.text(frame.file).find("frames_stripped") == std::string_view::npos;
    CHECK((is_libc || frame.source == snapshot::StringId{}));
  }
}

TEST_CASE("inlines: without debug information nothing changes") {
  const auto capture = read_stuck("inlined_bare", false);
  REQUIRE(capture);
  for (const auto& frame : test::main_frames(*capture)) {
    if (capture->tables.text(frame.file).find("inlined_bare") != std::string_view::npos) {
      CHECK(frame.source == snapshot::StringId{});
      CHECK((frame.flags & snapshot::kInlined) == 0);
    }
  }
}

}  // namespace
}  // namespace oddrank::stacks
