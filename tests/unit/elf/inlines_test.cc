#include "elf/inlines.h"

#include <fcntl.h>

#include "tests/support/catch.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::elf {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;

constexpr auto kNever = [] { return false; };

ModuleFiles sample_files() {
  ModuleFiles files;
  files.module = [](pid_t, const std::string&) {
    const std::string path = test::victim_path("inlined");
    return Result<UniqueFd>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  };
  return files;
}

// Returns a merged stack: native, Python with a local, native in train() where others are inlined,
// main.
snapshot::Capture sample_capture(std::uint64_t offset, const std::string& build_id) {
  snapshot::Capture capture;
  auto& tables = capture.tables;
  Frame native;
  native.function = tables.string("read");
  native.file = tables.string("/lib/libother.so");
  native.build_id = tables.string("0011");
  Frame python;
  python.kind = FrameKind::kPython;
  python.function = tables.string("load");
  Frame train;
  train.file = tables.string("/job/bin/inlined");
  train.build_id = tables.string(build_id);
  train.offset = offset;
  snapshot::Stack stack;
  stack.frames = {tables.frame(native), tables.frame(train), tables.frame(python)};
  snapshot::ThreadCapture thread;
  thread.samples.emplace_back();
  thread.samples.edit_back().stack = tables.stack(stack);
  thread.locals = {{2, {{tables.string("step"), tables.string("7")}}}};
  capture.processes.emplace_back();
  capture.processes.back().pid = 7;
  capture.processes.back().threads.push_back(std::move(thread));
  return capture;
}

const snapshot::Stack& stack_of(const snapshot::Capture& capture) {
  return capture.tables.stack(capture.processes[0].threads[0].samples[0].stack);
}

// Returns a return address in train() at which a function is inlined.
std::uint64_t inlined_at(const ElfImage& image) {
  const auto train = image.functions_with_prefix("_ZN4work5train");
  REQUIRE(train.size() == 1);
  for (std::uint64_t offset = 1; offset < train[0].size; ++offset) {
    auto capture = sample_capture(train[0].address + offset, image.build_id());
    add_inlined_frames(capture, sample_files(), kNever);
    if (stack_of(capture).frames.size() == 5) {
      return train[0].address + offset;
    }
  }
  return 0;
}

TEST_CASE("inlines: frames precede the frame they are inlined in, locals stay with theirs") {
  const auto image = test::open_image(test::victim_path("inlined"));
  REQUIRE(image);
  const std::uint64_t offset = inlined_at(*image);
  REQUIRE(offset != 0);
  auto capture = sample_capture(offset, image->build_id());
  CHECK(add_inlined_frames(capture, sample_files(), kNever));
  const auto& frames = stack_of(capture).frames;
  const auto& tables = capture.tables;
  REQUIRE(frames.size() == 5);
  CHECK(tables.text(tables.frame(frames[1]).function) == "_ZN4work5Queue4takeEi");
  CHECK(tables.frame(frames[1]).flags == snapshot::kInlined);
  CHECK(tables.frame(frames[2]).flags == snapshot::kInlined);
  // It had no name; debug information may know one that the symbol tables lack.
  CHECK(tables.text(tables.frame(frames[3]).function) == "_ZN4work5trainEi");
  CHECK(tables.frame(frames[3]).flags == 0);
  const auto& locals = capture.processes[0].threads[0].locals;
  REQUIRE(locals.size() == 1);
  CHECK(locals[0].frame == 4);
  CHECK(tables.frame(frames[4]).kind == FrameKind::kPython);

  // A second call changes nothing.
  CHECK(add_inlined_frames(capture, sample_files(), kNever));
  CHECK(stack_of(capture).frames.size() == 5);
}

TEST_CASE("inlines: a file of another build is not used") {
  const auto image = test::open_image(test::victim_path("inlined"));
  REQUIRE(image);
  auto capture = sample_capture(inlined_at(*image), "00112233");
  CHECK(add_inlined_frames(capture, sample_files(), kNever));
  CHECK(stack_of(capture).frames.size() == 3);
  CHECK(capture.processes[0].threads[0].locals[0].frame == 2);
}

TEST_CASE("inlines: out of time, the stacks are as they were") {
  const auto image = test::open_image(test::victim_path("inlined"));
  REQUIRE(image);
  auto capture = sample_capture(inlined_at(*image), image->build_id());
  CHECK_FALSE(add_inlined_frames(capture, sample_files(), [] { return true; }));
  CHECK(stack_of(capture).frames.size() == 3);
}

}  // namespace
}  // namespace oddrank::elf
