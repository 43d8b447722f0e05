#include "stacks/symbolize.h"

#include <fcntl.h>

#include "tests/support/catch.h"
#include "tests/unit/stacks/elf_samples.h"

namespace oddrank::stacks {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::Stack;

constexpr const char* kModule = "/job/bin/sample";

Result<UniqueFd> open_sample(pid_t, const std::string& path) {
  if (path != kModule) {
    return fail(Errc::kNotFound, "no such module");
  }
  return UniqueFd(::open(test::sample_path().c_str(), O_RDONLY | O_CLOEXEC));
}

// A capture of one process with one thread, whose native frames have these offsets.
struct Sample {
  snapshot::Capture capture;

  Sample() {
    capture.processes.resize(1);
    capture.processes[0].pid = 4711;
    capture.processes[0].threads.resize(1);
  }
  Frame native(std::uint64_t offset, std::string_view build_id) {
    Frame frame;
    frame.file = capture.tables.string(kModule);
    frame.build_id = capture.tables.string(build_id);
    frame.offset = offset;
    return frame;
  }
  void add_stack(const std::vector<Frame>& frames) {
    Stack stack;
    for (const Frame& frame : frames) {
      stack.frames.push_back(capture.tables.frame(frame));
    }
    snapshot::ThreadSample sample;
    sample.stack = capture.tables.stack(stack);
    capture.processes[0].threads[0].samples.push_back(sample);
  }
  std::vector<std::string> names(std::size_t sample = 0) const {
    std::vector<std::string> names;
    const auto id = capture.processes[0].threads[0].samples[sample].stack;
    for (const auto frame : capture.tables.stack(id).frames) {
      names.emplace_back(capture.tables.text(capture.tables.frame(frame).function));
    }
    return names;
  }
};

TEST_CASE("symbolize: a return address behind the end of its function still names it") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const auto main = image->symbol("main");
  REQUIRE(main);
  const std::uint64_t behind = main->address + main->size;
  Sample sample;
  const Frame inside = sample.native(main->address + 4, image->build_id());
  const Frame outside = sample.native(behind, image->build_id());
  Frame trampoline = sample.native(main->address, image->build_id());
  trampoline.flags = snapshot::kSignalFrame;
  sample.add_stack({inside, outside});
  sample.add_stack({outside, inside});              // innermost: exactly there, not in main
  sample.add_stack({inside, trampoline, outside});  // interrupted exactly there
  sample.add_stack({inside, inside, inside, outside});
  name_frames(sample.capture, open_sample);
  CHECK(sample.names(0) == std::vector<std::string>{"main", "main"});
  CHECK(sample.names(1).at(0) != "main");
  CHECK(sample.names(1).at(1) == "main");
  CHECK(sample.names(2).at(1) == "main");
  CHECK(sample.names(2).at(2) != "main");
  CHECK(sample.names(3) == std::vector<std::string>{"main", "main", "main", "main"});
}

TEST_CASE("symbolize: a file of another build gives no names") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const auto main = image->symbol("main");
  REQUIRE(main);
  Sample sample;
  sample.add_stack({sample.native(main->address + 4, "00112233445566778899")});
  sample.add_stack({sample.native(main->address + 4, "../../../../etc/passwd")});
  name_frames(sample.capture, open_sample);
  CHECK(sample.names(0) == std::vector<std::string>{""});
  CHECK(sample.names(1) == std::vector<std::string>{""});
}

TEST_CASE("symbolize: what is not a native frame without a name stays as it is") {
  Sample sample;
  auto& tables = sample.capture.tables;
  Frame python;
  python.kind = FrameKind::kPython;
  python.function = tables.string("train");
  python.file = tables.string(kModule);
  Frame named = sample.native(1, "");
  named.function = tables.string("known");
  Frame jit = sample.native(0x1234, "");
  jit.file = {};
  sample.add_stack({python, named, jit});
  sample.capture.processes[0].why = tables.string("because");
  sample.capture.processes[0].threads[0].samples[0].cpu_us = 7;
  name_frames(sample.capture, open_sample);
  CHECK(sample.names() == std::vector<std::string>{"train", "known", ""});
  CHECK(sample.capture.tables.text(sample.capture.processes[0].why) == "because");
  CHECK(sample.capture.processes[0].threads[0].samples[0].cpu_us == 7);
}

TEST_CASE("symbolize: the unnamed rows do not stay behind, and ids of nothing do no harm") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  Sample sample;
  sample.add_stack({sample.native(image->symbol("main")->address, image->build_id())});
  snapshot::ThreadSample damaged;
  damaged.stack = snapshot::StackId{999};
  sample.capture.processes[0].threads[0].samples.push_back(damaged);
  name_frames(sample.capture, open_sample);
  CHECK(sample.capture.tables.frames().size() == 1);
  CHECK(sample.names() == std::vector<std::string>{"main"});
  CHECK(sample.capture.processes[0].threads[0].samples[1].stack == snapshot::StackId{});
}

}  // namespace
}  // namespace oddrank::stacks
