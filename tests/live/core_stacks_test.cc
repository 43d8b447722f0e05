// Stacks of core files of real processes, frame by frame against those of the live process just
// before: cores that the kernel writes at a signal, and gcore's.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "attach/core/core_target.h"
#include "attach/live_target.h"
#include "base/read_file.h"
#include "elf/symbolize.h"
#include "ranks/cores/core_process.h"
#include "stacks/collect.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/core_sample.h"
#include "tests/support/name_frames.h"
#include "tests/support/victim.h"
#include "waits/node/collect_waits.h"

namespace oddrank {
namespace {

using attach::CoreTarget;
using test::Victim;

// A scratch folder for victims and their cores; restores the test's own folder and limits at the
// end.
class CoreFolder {
 public:
  CoreFolder() : before_(std::filesystem::current_path()) {
    std::string path = "/tmp/oddrank-test-cores-XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
    std::filesystem::current_path(path_);
    ::getrlimit(RLIMIT_CORE, &limit_);
    const rlimit open{limit_.rlim_max, limit_.rlim_max};
    ::setrlimit(RLIMIT_CORE, &open);
  }
  ~CoreFolder() {
    ::setrlimit(RLIMIT_CORE, &limit_);
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  CoreFolder(const CoreFolder&) = delete;
  CoreFolder& operator=(const CoreFolder&) = delete;
  CoreFolder(CoreFolder&&) = delete;
  CoreFolder& operator=(CoreFolder&&) = delete;

  const std::string& path() const { return path_; }

  // Returns the file there whose name begins with the prefix.
  std::optional<std::string> find(std::string_view prefix) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().filename().string().starts_with(prefix)) {
        return entry.path().string();
      }
    }
    return std::nullopt;
  }

 private:
  std::filesystem::path before_;
  std::string path_;
  rlimit limit_{};
};

// Returns nothing, with a reason for the skip, if the kernel writes no core file here.
std::string kernel_core(const CoreFolder& folder, Victim& victim, std::string& reason) {
  victim.signal(SIGQUIT);
  REQUIRE(victim.wait_end());
  if (const auto core = folder.find("core")) {
    return *core;
  }
  const auto pattern = read_file("/proc/sys/kernel/core_pattern");
  reason = "the kernel writes no core files into the working directory; core_pattern is " +
           pattern.value_or("unknown");
  return {};
}

std::string gcore(const CoreFolder& folder, const Victim& victim, std::string& reason) {
  auto gdb = Victim::start({"gcore", "-o", folder.path() + "/gcore", std::to_string(victim.pid())});
  if (!gdb) {
    reason = "no gcore (gdb) in PATH";
    return {};
  }
  REQUIRE(gdb->wait_end(Deadline::after(std::chrono::seconds(50))));
  const auto core = folder.find("gcore");
  REQUIRE(core);
  return *core;
}

struct Frame {
  std::string function;
  std::string file;
  std::string build_id;
  std::uint64_t place = 0;  // line of a Python frame, offset of a native one
  bool operator==(const Frame&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Frame& frame) {
  return out << frame.function << " " << frame.file << "+" << frame.place;
}

struct ThreadFrames {
  std::vector<Frame> frames;
  std::vector<Frame> python;  // if they could not be merged
  snapshot::StackEnd end = snapshot::StackEnd::kUnknown;
  snapshot::MergeState merge = snapshot::MergeState::kNativeOnly;
};

std::vector<Frame> frames_of(const snapshot::Capture& capture, snapshot::StackId id) {
  std::vector<Frame> frames;
  const auto& tables = capture.tables;
  for (const snapshot::FrameId at : tables.stack(id).frames) {
    const snapshot::Frame& frame = tables.frame(at);
    const std::string_view name = tables.text(frame.function);
    // gdb does not write which signals are blocked, which tells the one that was delivered.
    frames.push_back({std::string(name.starts_with("<signal ") ? "<signal>" : name),
                      std::string(tables.text(frame.file)),
                      std::string(tables.text(frame.build_id)),
                      frame.kind == snapshot::FrameKind::kPython ? frame.line : frame.offset});
  }
  return frames;
}

// All stacks of a target with their names, by tid.
struct Read {
  snapshot::Capture capture;
  std::map<pid_t, ThreadFrames> threads;
  std::vector<attach::ThreadState> states;

  const snapshot::ProcessCapture& process() const { return capture.processes.front(); }
};

Read read_target(const attach::Target& target) {
  Read read;
  snapshot::ProcessCapture process;
  process.pid = target.pid();
  auto collected =
      stacks::collect_stacks(target, stacks::CollectOptions{}, read.capture.tables, process);
  REQUIRE(collected);
  read.states = std::move(collected->threads);
  read.capture.processes.push_back(std::move(process));
  const elf::OpenModule open = [&target](pid_t /*pid*/,
                                         const std::string& path) -> Result<UniqueFd> {
    for (const attach::Mapping& mapping : target.maps().listed()) {
      if (mapping.path == path) {
        return target.open_file(mapping);
      }
    }
    return fail(Errc::kNotFound, path);
  };
  elf::name_frames(read.capture, open);
  for (const snapshot::ThreadCapture& thread : read.process().threads) {
    const snapshot::ThreadSample& sample = thread.samples.back();
    const snapshot::Stack& stack = read.capture.tables.stack(sample.stack);
    read.threads[thread.tid] = {frames_of(read.capture, sample.stack),
                                frames_of(read.capture, sample.python_stack), stack.end,
                                stack.merge};
  }
  return read;
}

Read read_live(const Victim& victim) {
  const auto target = attach::LiveTarget::open(victim.pid());
  REQUIRE(target);
  return read_target(**target);
}

std::unique_ptr<CoreTarget> open_core(const std::string& path) {
  auto target = CoreTarget::open(path);
  REQUIRE(target);
  return *std::move(target);
}

void check_same(const Read& core, const Read& live) {
  CHECK(core.process().read == snapshot::ReadState::kFull);
  CHECK(core.threads.size() == live.threads.size());
  for (const auto& [tid, expected] : live.threads) {
    CAPTURE(tid);
    REQUIRE(core.threads.contains(tid));
    const ThreadFrames& found = core.threads.at(tid);
    CHECK(found.frames == expected.frames);
    CHECK(found.python == expected.python);
    CHECK(found.end == expected.end);
    CHECK(found.merge == expected.merge);
    CHECK(found.end == snapshot::StackEnd::kComplete);
  }
  CHECK(core.process().threads.front().tid == live.process().threads.front().tid);
}

struct Blocked {
  std::string mode;
  long syscall;
};

Victim start_frames(const Blocked& blocked) {
  auto victim = Victim::start({test::victim_path("frames"), blocked.mode});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(blocked.syscall));
  return *std::move(victim);
}

void wait_for_workers(const Victim& victim) {
  const auto target = attach::LiveTarget::open(victim.pid());
  REQUIRE(target);
  const auto threads = (*target)->threads();
  REQUIRE(threads);
  for (const attach::ThreadState& thread : *threads) {
    REQUIRE(victim.wait_state("S", thread.tid));
  }
}

Victim start_python() {
  test::VictimOptions options;
  // Otherwise gcore writes the 64 MiB that each thread's arena keeps to itself.
  options.environment = {{"MALLOC_ARENA_MAX", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  auto victim = Victim::start({"python3", test::victim_script("python_stacks.py")}, options);
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  REQUIRE(victim->wait_syscall(SYS_read));
  wait_for_workers(*victim);
  return *std::move(victim);
}

bool has_python() {
  auto python = Victim::start({"python3", "-c", "print('ready', flush=True)"});
  return python && python->wait_line("ready");
}

}  // namespace

TEST_CASE("stacks of the kernel's core are those of the live process") {
  for (const Blocked& blocked : {Blocked{"read", SYS_read}, Blocked{"altstack", SYS_read},
                                 Blocked{"threads", test::kPauseCall}}) {
    CAPTURE(blocked.mode);
    const CoreFolder folder;
    Victim victim = start_frames(blocked);
    wait_for_workers(victim);
    const Read live = read_live(victim);
    std::string reason;
    const std::string core = kernel_core(folder, victim, reason);
    if (core.empty()) {
      ODDRANK_SKIP(reason);
    }
    const auto target = open_core(core);
    CHECK_FALSE(target->core().truncated());
    CHECK(target->name() == "frames");
    CHECK(target->executable() == test::victim_path("frames"));
    check_same(read_target(*target), live);
    CHECK(target->missing_files().empty());
    snapshot::Tables tables;
    const auto identity = ranks::identify_core(*target, tables);
    CHECK(tables.text(identity.process.command) ==
          test::victim_path("frames") + " " + blocked.mode);
    REQUIRE(identity.notes.size() == 1);
    CHECK(identity.notes[0].find("it was ended by SIGQUIT from pid " +
                                 std::to_string(::getpid())) == 0);
  }
}

TEST_CASE("stacks of gcore's core are those of the live process, which goes on") {
  for (const Blocked& blocked : {Blocked{"read", SYS_read}, Blocked{"altstack", SYS_read}}) {
    CAPTURE(blocked.mode);
    const CoreFolder folder;
    Victim victim = start_frames(blocked);
    const Read live = read_live(victim);
    std::string reason;
    const std::string core = gcore(folder, victim, reason);
    if (core.empty()) {
      ODDRANK_SKIP(reason);
    }
    CHECK(victim.wait_state("S"));
    const auto target = open_core(core);
    check_same(read_target(*target), live);
    snapshot::Tables tables;
    CHECK(ranks::identify_core(*target, tables).notes.empty());  // no signal ended it
  }
}

TEST_CASE("Python and native frames of cores are those of the live process") {
  if (!has_python()) {
    ODDRANK_SKIP("no python3 in PATH");
  }
  const CoreFolder folder;
  Victim victim = start_python();
  const Read live = read_live(victim);
  REQUIRE(live.process().threads.size() >= 12);
  std::string reason;
  const std::string by_gcore = gcore(folder, victim, reason);
  const std::string by_kernel = kernel_core(folder, victim, reason);
  if (by_kernel.empty()) {
    ODDRANK_SKIP(reason);
  }
  for (const std::string& core : {by_kernel, by_gcore}) {
    if (core.empty()) {
      continue;  // no gdb here; the test above says so
    }
    CAPTURE(core);
    const auto target = open_core(core);
    const Read read = read_target(*target);
    check_same(read, live);
    CHECK(read.capture.tables.text(read.process().python_version) ==
          live.capture.tables.text(live.process().python_version));
    const auto& locals = read.process().threads.front().locals;
    CHECK(locals.size() == live.process().threads.front().locals.size());
  }
}

TEST_CASE("waits of a core follow from registers and memory alone") {
  const CoreFolder folder;
  Victim victim = start_frames({"read", SYS_read});
  std::string reason;
  const std::string core = kernel_core(folder, victim, reason);
  if (core.empty()) {
    ODDRANK_SKIP(reason);
  }
  const auto target = open_core(core);
  Read read = read_target(*target);
  snapshot::ProcessCapture& process = read.capture.processes.front();
  CHECK(process.state == 'S');
  std::optional<cpython::PythonSample> no_python;
  waits::collect_core_waits(*target, read.states, no_python, read.capture.tables, process);
  const snapshot::Wait& wait = process.threads.front().wait;
  CHECK(read.capture.tables.text(wait.syscall_name) == "read");
  CHECK(wait.fd == 0);
  CHECK(wait.path == snapshot::StringId{});
}

TEST_CASE("a real core, cut or damaged anywhere, is read as far as it goes") {
  if (!has_python()) {
    ODDRANK_SKIP("no python3 in PATH");
  }
  const CoreFolder folder;
  std::string reason;
  std::string core;
  {
    auto victim = Victim::start({"python3", "-c", R"(
import threading, time
def work(n):
    time.sleep(1000) if n == 0 else work(n - 1)
threading.Thread(target=work, args=(20,), daemon=True).start()
print('ready', flush=True)
work(10)
)"});
    REQUIRE(victim);
    REQUIRE(victim->wait_line("ready"));
    REQUIRE(victim->wait_syscall(SYS_clock_nanosleep));
    core = kernel_core(folder, *victim, reason);
  }
  if (core.empty()) {
    ODDRANK_SKIP(reason);
  }
  const auto read_all = [](const std::string& path) -> std::size_t {
    const auto target = CoreTarget::open(path);
    if (!target) {
      return 0;
    }
    snapshot::Tables tables;
    snapshot::ProcessCapture process;
    process.pid = (*target)->pid();
    auto read = stacks::collect_stacks(**target, stacks::CollectOptions{}, tables, process);
    if (!read) {
      return 0;
    }
    waits::collect_core_waits(**target, read->threads, read->python, tables, process);
    static_cast<void>(ranks::identify_core(**target, tables));
    static_cast<void>(ranks::describe_missing_files(**target));
    std::size_t frames = 0;
    for (const auto& thread : process.threads) {
      frames += tables.stack(thread.samples.back().stack).frames.size();
    }
    return frames;
  };
  const std::size_t whole = read_all(core);
  CHECK(whole > 40);
  const auto size = std::filesystem::file_size(core);
  std::size_t some = 0;
  const std::uintmax_t steps = 25;
  for (std::uintmax_t cut = 1; cut <= steps; ++cut) {
    // Lengths that double, so that both headers and memory are cut; from the longest to shortest.
    const std::uintmax_t length = cut <= 12 ? size - size * cut / 13 : size >> (cut - 8);
    std::filesystem::resize_file(core, length);
    CAPTURE(length);
    const std::size_t frames = read_all(core);
    CHECK(frames <= whole);
    some += frames > 0 ? 1 : 0;
  }
  CHECK(some > 5);
}

TEST_CASE("flipped bytes in the memory of a real core never harm its reader") {
  if (!has_python()) {
    ODDRANK_SKIP("no python3 in PATH");
  }
  const CoreFolder folder;
  std::string reason;
  std::string core;
  {
    Victim victim = start_python();
    core = kernel_core(folder, victim, reason);
  }
  if (core.empty()) {
    ODDRANK_SKIP(reason);
  }
  std::mt19937_64 random(11);  // NOLINT(cert-msc51-cpp): repeatable on purpose
  const UniqueFd file(::open(core.c_str(), O_RDWR | O_CLOEXEC));
  const auto size = std::filesystem::file_size(core);
  for (int round = 0; round < 20; ++round) {
    // A page in a hundred gets a damaged word; damage adds up.
    for (std::uintmax_t at = random() % 409600; at + 8 < size; at += random() % 819200) {
      const std::uint64_t word = round % 3 == 0 ? random() : round % 3 == 1 ? 0 : ~std::uint64_t{0};
      REQUIRE(::pwrite(file.get(), &word, sizeof word, static_cast<off_t>(at & ~7ULL)) == 8);
    }
    const auto target = CoreTarget::open(core);
    if (target) {
      snapshot::Tables tables;
      snapshot::ProcessCapture process;
      process.pid = (*target)->pid();
      auto read = stacks::collect_stacks(**target, stacks::CollectOptions{}, tables, process);
      if (read) {
        waits::collect_core_waits(**target, read->threads, read->python, tables, process);
      }
    }
  }
  SUCCEED("still here");
}

}  // namespace oddrank
