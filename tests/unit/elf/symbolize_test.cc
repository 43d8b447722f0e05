#include "elf/symbolize.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "attach/proc_maps.h"
#include "tests/support/catch.h"
#include "tests/support/name_frames.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::elf {
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

TEST_CASE("symbolize: frames that are not native, or have names, stay as they are") {
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
  sample.capture.processes[0].threads[0].samples.edit(0).cpu_us = 7;
  name_frames(sample.capture, open_sample);
  CHECK(sample.names() == std::vector<std::string>{"train", "known", ""});
  CHECK(sample.capture.tables.text(sample.capture.processes[0].why) == "because");
  CHECK(sample.capture.processes[0].threads[0].samples[0].cpu_us == 7);
}

TEST_CASE("symbolize: unnamed rows are removed, and invalid ids do no harm") {
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

TEST_CASE("symbolize: one build under two paths is read once") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const auto main = image->symbol("main");
  REQUIRE(main);
  Sample sample;
  Frame elsewhere = sample.native(main->address + 8, image->build_id());
  elsewhere.file = sample.capture.tables.string("/container/bin/sample");
  sample.add_stack({sample.native(main->address + 4, image->build_id()), elsewhere});
  int opened = 0;
  name_frames(sample.capture, [&opened](pid_t pid, const std::string&) {
    ++opened;
    return open_sample(pid, kModule);
  });
  CHECK(sample.names() == std::vector<std::string>{"main", "main"});
  CHECK(opened == 1);
}

TEST_CASE("symbolize: if no file is trusted, memory provides the names") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  Sample sample;
  sample.add_stack({sample.native(image->symbol("main")->address + 4, image->build_id())});
  ModuleFiles files;
  files.module = [](pid_t, const std::string&) {
    // Replaced by another program since.
    const std::string path = test::victim_path("waiting");
    return Result<UniqueFd>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  };
  SECTION("which has it") {
    files.memory = [](pid_t pid, const std::string&) { return open_sample(pid, kModule); };
    name_frames(sample.capture, files);
    CHECK(sample.names() == std::vector<std::string>{"main"});
  }
  SECTION("which may be of another build, too") {
    files.memory = files.module;
    name_frames(sample.capture, files);
    CHECK(sample.names() == std::vector<std::string>{""});
  }
}

TEST_CASE("symbolize: a module without build id is named only if all ranks see the same file") {
  // The sample has a build id and so would not be used; this file has none.
  const std::string plain = test::victim_path("no_build_id");
  const auto image = test::open_image(plain);
  REQUIRE(image);
  REQUIRE(image->build_id().empty());
  Sample sample;
  sample.add_stack({sample.native(image->symbol("main")->address + 4, "")});
  sample.capture.processes.push_back(sample.capture.processes[0]);
  sample.capture.processes[1].pid = 4712;
  const auto open = [&plain](const std::string& second) {
    return [plain, second](pid_t pid, const std::string&) {
      const std::string& path = pid == 4711 ? plain : second;
      return Result<UniqueFd>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    };
  };
  SECTION("the same") {
    name_frames(sample.capture, open(plain));
    CHECK(sample.names() == std::vector<std::string>{"main"});
  }
  SECTION("two files of one path") {
    name_frames(sample.capture, open(test::sample_path()));
    CHECK(sample.names() == std::vector<std::string>{""});
  }
}

TEST_CASE("symbolize: frames in the vdso have names") {
  // Our own stands for the target's: a copy in a file, as the agent makes one.
  const auto maps = attach::read_proc_maps(::getpid());
  REQUIRE(maps);
  const auto& all = maps->listed();
  const auto vdso = std::find_if(all.begin(), all.end(), [](const attach::Mapping& mapping) {
    return mapping.path == "[vdso]";
  });
  if (vdso == all.end()) {
    ODDRANK_SKIP("this kernel gives no vdso");
  }
  const auto* const begin = reinterpret_cast<const std::byte*>(vdso->start);
  const std::vector<std::byte> bytes(begin, begin + (vdso->end - vdso->start));
  const auto image = ElfImage::from_memory(bytes);
  REQUIRE(image);
  // aarch64's has another prefix.
  auto function = image->symbol("__vdso_clock_gettime");
  function = function ? function : image->symbol("__kernel_clock_gettime");
  REQUIRE(function);
  Sample sample;
  Frame frame = sample.native(function->address + 3, image->build_id());
  frame.file = sample.capture.tables.string("[vdso]");
  sample.add_stack({frame});
  name_frames(sample.capture, [&bytes](pid_t, const std::string& path) -> Result<UniqueFd> {
    UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
    if (path != "[vdso]" ||
        ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      return fail(Errc::kNotFound, "no such module");
    }
    return fd;
  });
  CHECK(sample.names().at(0).find("clock_gettime") != std::string::npos);
}

}  // namespace
}  // namespace oddrank::elf
