// Python frames of real interpreters, compared frame by frame with what they print themselves.
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/live_target.h"
#include "base/deadline.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "stacks/merge.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"
#include "unwind/native_unwind.h"

namespace oddrank {
namespace {

using cpython::Locals;
using cpython::PythonFrame;
using cpython::PythonLocal;
using cpython::PythonProcess;
using cpython::PythonThread;
using test::Interpreter;
using test::Victim;

constexpr unsigned kOldest = 6;
constexpr unsigned kNewest = 15;
constexpr unsigned kFirstWithShims = 12;
// A loop of 3.12+ whose frame was popped; Python itself does not show it.
constexpr const char* kNoFrame = "<leaving a function>";

std::vector<Interpreter> supported_interpreters() {
  auto all = test::find_interpreters();
  all.erase(std::remove_if(
                all.begin(), all.end(),
                [](const Interpreter& one) { return one.minor < kOldest || one.minor > kNewest; }),
            all.end());
  return all;
}

// Returns the path of a Python 2.7, in ~/.pyenv.
std::optional<std::string> python_2() {
  const char* home = std::getenv("HOME");
  std::error_code error;
  for (const auto& version : std::filesystem::directory_iterator(
           std::filesystem::path(home != nullptr ? home : "/") / ".pyenv/versions", error)) {
    const std::filesystem::path path = version.path() / "bin/python2.7";
    if (std::filesystem::exists(path, error)) {
      return path.string();
    }
  }
  return std::nullopt;
}

struct ToldThread {
  std::string name;
  std::vector<std::string> frames;  // "LINE\tFUNCTION\tFILE", innermost first
};

// The stacks that the victim prints itself.
struct Told {
  std::string version;
  std::map<pid_t, ToldThread> threads;
};

Told listen(Victim& victim) {
  Told told;
  ToldThread* thread = nullptr;
  for (std::string key; key != "ready";) {
    const std::string line = victim.wait_line("").value_or("ready");
    const auto blank = std::min(line.find(' '), line.size());
    key = line.substr(0, blank);
    const std::string rest = line.substr(std::min(blank + 1, line.size()));
    if (key == "version") {
      told.version = rest;
    } else if (key == "thread") {
      const auto words = split_blanks(rest);
      thread = &told.threads[parse_number<pid_t>(words.at(0)).value()];
      thread->name = std::string(words.at(1));
    } else if (key == "frame" && thread != nullptr) {
      thread->frames.push_back(rest);
    }
  }
  return told;
}

struct Reading {
  std::unique_ptr<attach::LiveTarget> target;
  std::unique_ptr<elf::ModuleMap> modules;
  std::unique_ptr<PythonProcess> python;

  std::vector<PythonThread> threads(Locals locals = Locals::kNone) const {
    auto result = python->threads(locals);
    REQUIRE(result);
    return *std::move(result);
  }
};

Reading open_python(pid_t pid) {
  auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  Reading reading{*std::move(target), nullptr, nullptr};
  reading.modules = std::make_unique<elf::ModuleMap>(*reading.target);
  auto python = PythonProcess::find(*reading.target, *reading.modules);
  INFO((python ? "" : python.error().what));
  REQUIRE(python);
  reading.python = std::make_unique<PythonProcess>(*std::move(python));
  return reading;
}

std::vector<std::string> as_told(const PythonThread& thread) {
  std::vector<std::string> frames;
  for (const PythonFrame& frame : thread.frames) {
    if (frame.function != kNoFrame) {
      frames.push_back(std::to_string(frame.line) + "\t" + frame.function + "\t" + frame.file);
    }
  }
  return frames;
}

const PythonThread* find_thread(const std::vector<PythonThread>& threads, pid_t tid) {
  for (const PythonThread& thread : threads) {
    if (thread.target_tid == tid) {
      return &thread;
    }
  }
  return nullptr;
}

Victim start(const Interpreter& interpreter,
             const std::string& script,
             const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  test::VictimOptions options;
  options.environment = environment;
  options.environment.emplace_back("PYTHONDONTWRITEBYTECODE", "1");
  auto victim = Victim::start({interpreter.path, test::victim_script(script)}, options);
  REQUIRE(victim);
  return *std::move(victim);
}

std::string local(const PythonFrame& frame, const std::string& name) {
  for (const PythonLocal& one : frame.locals) {
    if (one.name == name) {
      return one.value;
    }
  }
  return "not there";
}

const PythonFrame& frame_named(const PythonThread& thread, const std::string& end) {
  for (const PythonFrame& frame : thread.frames) {
    if (frame.function.size() >= end.size() &&
        frame.function.compare(frame.function.size() - end.size(), end.size(), end) == 0) {
      return frame;
    }
  }
  FAIL("no frame of " << end);
  return thread.frames.front();
}

void check_layer(const PythonFrame& frame) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"self", "<Model>"}, {"depth", "7"},         {"scale", "0.5"},
      {"step", "1207"},    {"backend", "'gloo'"},  {"api_token", "<hidden>"},
      {"shape", "(2, 3)"}, {"flag", "True"},       {"captured", "[1, 2, 3, 4, ... 5 items]"},
      {"nothing", "None"}, {"show", "<function>"}, {"negative", "-123456789012"},
  };
  for (const auto& [name, value] : expected) {
    INFO(name);
    CHECK(local(frame, name) == value);
  }
}

const PythonThread& thread_named(const std::vector<PythonThread>& threads,
                                 const Told& told,
                                 const std::string& name) {
  for (const auto& [tid, expected] : told.threads) {
    const PythonThread* thread = find_thread(threads, tid);
    if (expected.name == name && thread != nullptr) {
      return *thread;
    }
  }
  FAIL("no thread " << name);
  return threads.front();
}

void check_locals(const std::vector<PythonThread>& threads, const Told& told) {
  check_layer(frame_named(thread_named(threads, told, "method"), "layer"));
  CHECK(local(frame_named(thread_named(threads, told, "deep"), "deep"), "n") == "0");
  CHECK(local(frame_named(thread_named(threads, told, "sorted"), "key_function"), "item") == "3");
}

// Checks the locals that are read by default: numbers and texts of the main thread.
void check_deciding_locals(const std::vector<PythonThread>& threads, pid_t main) {
  bool any = false;
  for (const PythonThread& thread : threads) {
    for (const PythonFrame& frame : thread.frames) {
      for (const PythonLocal& local : frame.locals) {
        any = true;
        INFO(frame.function << ": " << local.name << " = " << local.value);
        CHECK(thread.target_tid == main);
        CHECK(local.value.find_first_of("<[(") != 0);
      }
    }
  }
  CHECK(any);
}

// Returns native frames of one thread, with the marks that merge() needs.
std::vector<snapshot::Frame> native_frames(const unwind::NativeStack& stack,
                                           const PythonProcess& python) {
  std::vector<snapshot::Frame> frames;
  for (const unwind::NativeFrame& native : stack.frames) {
    snapshot::Frame frame;
    frame.offset = native.pc;
    for (const elf::ElfRange& range : python.evaluation_ranges()) {
      if (native.pc >= range.address && native.pc < range.address + range.size) {
        frame.flags = snapshot::kEvaluation;
      }
    }
    frames.push_back(frame);
  }
  return frames;
}

std::vector<snapshot::Frame> python_frames(const PythonThread& thread) {
  std::vector<snapshot::Frame> frames;
  for (const PythonFrame& python : thread.frames) {
    snapshot::Frame frame;
    frame.kind = snapshot::FrameKind::kPython;
    frame.line = python.line;
    frame.flags = python.entry ? snapshot::kEntry : 0;
    frames.push_back(frame);
  }
  return frames;
}

std::ptrdiff_t count_flag(const std::vector<snapshot::Frame>& frames, snapshot::FrameFlag flag) {
  return std::count_if(frames.begin(), frames.end(),
                       [flag](const snapshot::Frame& frame) { return (frame.flags & flag) != 0; });
}

}  // namespace

TEST_CASE("frames, lines and names agree with the interpreter", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    Victim victim = start(interpreter, "python_stacks.py");
    const Told told = listen(victim);
    REQUIRE(told.threads.size() == 12);
    REQUIRE(victim.wait_syscall(SYS_read));  // the main thread's read
    const Reading reading = open_python(victim.pid());
    CHECK(reading.python->version() == told.version);
    const auto threads = reading.threads(Locals::kAll);
    CHECK(threads.size() == told.threads.size());
    for (const auto& [tid, expected] : told.threads) {
      INFO("thread " << expected.name);
      const PythonThread* thread = find_thread(threads, tid);
      REQUIRE(thread != nullptr);
      CHECK(as_told(*thread) == expected.frames);
      CHECK(thread->name == (expected.name == "main" ? "MainThread" : expected.name));
      CHECK(thread->interpreter == 0);
      CHECK_FALSE(thread->cut);
      CHECK_FALSE(thread->holds_gil);
    }
    check_locals(threads, told);
    const auto& destructor = thread_named(threads, told, "destructor").frames;
    const auto empty_loops = std::count_if(
        destructor.begin(), destructor.end(),
        [](const PythonFrame& frame) { return frame.function == kNoFrame && !frame.readable; });
    CHECK(empty_loops == (interpreter.minor >= kFirstWithShims ? 1 : 0));
    // A second sample has its code objects from the cache.
    CHECK(as_told(reading.threads().front()) == as_told(threads.front()));
    check_deciding_locals(reading.threads(Locals::kDeciding), victim.pid());
  }
}

TEST_CASE("native and Python frames merge, destructors included", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    Victim victim = start(interpreter, "python_stacks.py");
    const Told told = listen(victim);
    REQUIRE(victim.wait_syscall(SYS_read));
    const Reading reading = open_python(victim.pid());
    const auto threads = reading.threads();
    unwind::NativeUnwinder unwinder(*reading.target, *reading.modules);
    for (const auto& [tid, expected] : told.threads) {
      INFO("thread " << expected.name);
      REQUIRE(victim.wait_state("S", tid));
      const PythonThread* thread = find_thread(threads, tid);
      const auto state = reading.target->thread(tid);
      REQUIRE(thread != nullptr);
      REQUIRE(state);
      const auto native = unwinder.unwind(*state);
      CHECK(native.end == snapshot::StackEnd::kComplete);
      const auto natives = native_frames(native, *reading.python);
      const auto pythons = python_frames(*thread);
      INFO("evaluations: " << count_flag(natives, snapshot::kEvaluation)
                           << ", entries: " << count_flag(pythons, snapshot::kEntry));
      const auto merged = stacks::merge(natives, pythons, true);
      CHECK(merged.state == snapshot::MergeState::kMerged);
    }
  }
}

TEST_CASE("a recursion beyond the limit is cut", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    // The victim needs a second to print the deepest one: one is enough.
    const bool deepest = &interpreter == &interpreters.back();
    const char* depth = deepest ? "100000" : "6000";
    Victim victim = start(interpreter, "python_stacks.py", {{"VICTIM_DEPTH", depth}});
    const Told told = listen(victim);
    const Reading reading = open_python(victim.pid());
    for (const auto& [tid, expected] : told.threads) {
      const auto threads = reading.threads();
      const PythonThread* thread = find_thread(threads, tid);
      REQUIRE(thread != nullptr);
      CHECK(thread->cut == (deepest && expected.name == "deep"));
      CHECK(thread->too_long == thread->cut);
      CHECK(thread->frames.size() <= 65536);
      CHECK((expected.name != "deep" || thread->frames.size() > 6000));
    }
  }
}

TEST_CASE("a thread that holds the GIL while it blocks is known", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    // A free-threaded build has a GIL, too, if that is requested.
    Victim victim = start(interpreter, "python_gil.py", {{"PYTHON_GIL", "1"}});
    const auto waiter = victim.wait_line("waiter");
    REQUIRE(waiter);
    const pid_t waiter_tid = parse_number<pid_t>(*waiter).value();
    REQUIRE(victim.wait_line("ready"));
    REQUIRE(victim.wait_syscall(test::kPauseCall));
    REQUIRE(victim.wait_syscall(SYS_futex, waiter_tid));
    const Reading reading = open_python(victim.pid());
    const auto threads = reading.threads();
    REQUIRE(find_thread(threads, victim.pid()) != nullptr);
    REQUIRE(find_thread(threads, waiter_tid) != nullptr);
    CHECK(find_thread(threads, victim.pid())->holds_gil);
    CHECK_FALSE(find_thread(threads, waiter_tid)->holds_gil);

    // It wakes up every 5 ms to ask for the GIL again.
    std::optional<attach::SyscallState> syscall;
    for (const Deadline deadline = Victim::soon(); !syscall && !deadline.passed();) {
      const auto state = reading.target->thread(waiter_tid);
      REQUIRE(state);
      syscall =
          state->syscall && state->syscall->number == SYS_futex ? state->syscall : std::nullopt;
    }
    REQUIRE(syscall);
    const auto gils = reading.python->gils();
    REQUIRE_FALSE(gils.empty());
    const elf::ElfRange words = gils.front().words;
    CHECK(syscall->arguments[0] >= words.address);
    CHECK(syscall->arguments[0] < words.address + words.size);
  }
}

TEST_CASE("a forked child is read like any other", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    Victim victim = start(interpreter, "python_child.py");
    const auto line = victim.wait_line("ready");
    REQUIRE(line);
    const pid_t child = parse_number<pid_t>(*line).value();
    REQUIRE(victim.wait_syscall(SYS_read, child));
    const Reading reading = open_python(child);
    const auto threads = reading.threads();
    REQUIRE(threads.size() == 1);
    CHECK(threads[0].target_tid == child);
    REQUIRE(threads[0].frames.size() == 1);
    CHECK(threads[0].frames[0].function == "<module>");
  }
}

TEST_CASE("versions that are not supported are named", "[python]") {
  const auto old = python_2();
  if (!old) {
    ODDRANK_SKIP("no Python 2 in ~/.pyenv");
  }
  auto victim = Victim::start({*old, "-c", "import os; os.read(0, 1)"});
  REQUIRE(victim);
  REQUIRE(victim->wait_syscall(SYS_read));
  auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  REQUIRE_FALSE(python);
  CHECK(python.error().code == Errc::kUnsupported);
  CHECK(python.error().what.find("Python 2.7") != std::string::npos);
}

TEST_CASE("a process without Python has no runtime", "[python]") {
  auto victim = Victim::start({"cat"});
  REQUIRE(victim);
  REQUIRE(victim->wait_syscall(SYS_read));
  auto target = attach::LiveTarget::open(victim->pid());
  REQUIRE(target);
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  REQUIRE_FALSE(python);
  CHECK(python.error().code == Errc::kNotFound);
}

}  // namespace oddrank
