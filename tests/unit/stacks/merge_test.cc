#include "stacks/merge.h"

#include <string>

#include "stacks/compiled_python.h"
#include "stacks/greenlets.h"
#include "tests/support/catch.h"

// Stacks as text, innermost first. Native: letters, "!" for the evaluation loop. Python: names,
// "*" behind an entry frame's. So "a !" and "f g*" merge to "a f g* !".
namespace oddrank::stacks {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::MergeState;

std::vector<Frame> native(std::string_view text) {
  std::vector<Frame> frames;
  for (const char c : text) {
    if (c == ' ') {
      continue;
    }
    Frame frame;
    frame.offset = static_cast<unsigned char>(c);
    frame.flags = c == '!' ? snapshot::kEvaluation : 0;
    frames.push_back(frame);
  }
  return frames;
}

std::vector<Frame> python(std::string_view text) {
  std::vector<Frame> frames;
  for (const char c : text) {
    if (c == '*') {
      frames.back().flags = snapshot::kEntry;
    } else if (c != ' ') {
      Frame frame;
      frame.kind = FrameKind::kPython;
      frame.line = static_cast<unsigned char>(c);
      frames.push_back(frame);
    }
  }
  return frames;
}

std::string text(const std::vector<Frame>& frames) {
  std::string result;
  for (const Frame& frame : frames) {
    result += result.empty() ? "" : " ";
    if (frame.kind == FrameKind::kNative) {
      result += static_cast<char>(frame.offset);
    } else {
      result += static_cast<char>(frame.line);
      result += (frame.flags & snapshot::kEntry) != 0 ? "*" : "";
    }
  }
  return result;
}

std::string merged(std::string_view native_text, std::string_view python_text, bool complete) {
  const MergedFrames result = merge(native(native_text), python(python_text), complete);
  const auto& indexed =
      result.state == MergeState::kMismatch ? result.python_frames : result.frames;
  REQUIRE(result.python_index.size() == python(python_text).size());
  for (std::size_t i = 0; i < result.python_index.size(); ++i) {
    CHECK(indexed.at(result.python_index[i]) == python(python_text)[i]);
  }
  switch (result.state) {
    case MergeState::kNativeOnly:
      return "native only: " + text(result.frames);
    case MergeState::kPythonOnly:
      return "Python only: " + text(result.frames);
    case MergeState::kMerged:
      return text(result.frames);
    case MergeState::kMismatch:
      return "mismatch: " + text(result.frames) + " / " + text(result.python_frames);
  }
  return "?";
}

}  // namespace

TEST_CASE("Python frames stand inside their evaluation loop", "[merge]") {
  CHECK(merged("r w ! m s", "f*", true) == "r w f* ! m s");
  CHECK(merged("r ! m", "f g h*", true) == "r f g h* ! m");
  // 3.10 and before: every frame is an entry.
  CHECK(merged("r ! v ! v ! m", "f* g* h*", true) == "r f* ! v g* ! v h* ! m");
  // The innermost frame is the evaluation loop itself: it computes.
  CHECK(merged("! m", "f*", true) == "f* ! m");
}

TEST_CASE("loops that call back into Python nest", "[merge]") {
  CHECK(merged("r ! p q ! m", "a b* c d e*", true) == "r a b* ! p q c d e* ! m");
}

TEST_CASE("threads with one kind of frames only", "[merge]") {
  CHECK(merged("e l s", "", true) == "native only: e l s");
  CHECK(merged("", "f g*", true) == "Python only: f g*");
  CHECK(merged("", "", true) == "native only: ");
  // The thread entered the loop and has no frame yet.
  CHECK(merged("! m", "", true) == "native only: ! m");
}

TEST_CASE("stacks that do not fit are kept side by side", "[merge]") {
  CHECK(merged("r ! ! m", "f*", true) == "mismatch: r ! ! m / f*");
  CHECK(merged("r ! m", "f* g*", true) == "mismatch: r ! m / f* g*");
  CHECK(merged("r m", "f*", true) == "mismatch: r m / f*");
}

TEST_CASE("a truncated native stack is merged as far as it goes", "[merge]") {
  CHECK(merged("r ! p", "a* b c*", false) == "r a* ! p b c*");
  CHECK(merged("r p", "a* b*", false) == "r p a* b*");
  CHECK(merged("r ! p !", "a*", false) == "r a* ! p !");
}

TEST_CASE("a truncated Python stack is merged as far as it goes", "[merge]") {
  CHECK(merged("r ! p ! m", "a* b c", true) == "r a* ! p b c ! m");
  CHECK(merged("r ! p ! x ! m", "a* b c", true) == "r a* ! p b c ! x ! m");
  CHECK(merged("r ! m", "a* b c", true) == "mismatch: r ! m / a* b c");
}

TEST_CASE("evaluation loops of parked greenlets do not count", "[merge]") {
  snapshot::Tables tables;
  auto frames = native("r ! g g ! m ! s");
  for (const std::size_t at : {std::size_t{2}, std::size_t{3}}) {
    frames[at].file = tables.string("/x/greenlet/_greenlet.cpython-311-x86_64-linux-gnu.so");
  }
  const auto own = apart_from_parked(frames, tables);
  REQUIRE(own);
  auto result = merge(*own, python("f h*"), true);
  REQUIRE(result.state == MergeState::kMerged);
  REQUIRE(result.python_index == std::vector<std::size_t>{1, 2});
  const Frame& mark = result.frames.at(6);
  CHECK(tables.text(mark.function) == "<parked greenlets>");
  CHECK(result.frames.size() == frames.size() + 3);
  CHECK_FALSE(apart_from_parked(native("r ! m ! s"), tables));
  CHECK_FALSE(apart_from_parked({}, tables));
}

TEST_CASE("Python frames of no loop stand behind the native ones, with a mark", "[merge]") {
  const auto compiled = [](std::string_view native_text, std::string_view python_text) {
    snapshot::Tables tables;
    auto result = merge_compiled(native(native_text), python(python_text), tables);
    if (!result) {
      return std::string("mismatch");
    }
    for (std::size_t i = 0; i < result->python_index.size(); ++i) {
      CHECK(result->frames.at(result->python_index[i]) == python(python_text)[i]);
    }
    for (Frame& frame : result->frames) {
      frame.line = tables.text(frame.function).empty() ? frame.line : '<';
      CHECK((frame.flags & snapshot::kEvaluation) == (frame.offset == '!' ? frame.flags : 0));
    }
    return text(result->frames);
  };
  CHECK(compiled("r m", "f g") == "r m < f g");    // 3.11
  CHECK(compiled("r m", "f g*") == "r m < f g*");  // later
  CHECK(compiled("r ! m", "a* f g") == "r a* ! m < f g");
  CHECK(compiled("r ! m", "a* b* c*") == "mismatch");
  CHECK(compiled("r ! ! ! m", "a* f") == "mismatch");
}

}  // namespace oddrank::stacks
