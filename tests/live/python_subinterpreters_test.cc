// Interpreters beside the main one: which one's frames a thread has, and which one's GIL it holds.
#include <sys/syscall.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attach/live_target.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "stacks/collect.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

using test::Victim;

constexpr unsigned kFirstWithOwnGil = 12;

struct Told {
  pid_t nested = 0;
  pid_t busy = 0;
  std::int64_t busy_interpreter = 0;
};

// Returns nullopt if this Python has no module for interpreters.
std::optional<Told> listen(Victim& victim) {
  Told told;
  for (std::string key; key != "ready";) {
    const std::string line = victim.wait_line("").value_or("none");
    const auto words = split_blanks(line);
    key = words.empty() ? "none" : std::string(words[0]);
    if (key == "none") {
      return std::nullopt;
    }
    if (key == "nested") {
      told.nested = parse_number<pid_t>(words.at(1)).value();
    } else if (key == "busy") {
      told.busy = parse_number<pid_t>(words.at(1)).value();
      told.busy_interpreter = parse_number<std::int64_t>(words.at(2)).value();
    }
  }
  return told;
}

const snapshot::ThreadCapture& thread_of(const snapshot::ProcessCapture& process, pid_t tid) {
  const auto at = std::find_if(process.threads.begin(), process.threads.end(),
                               [tid](const auto& thread) { return thread.tid == tid; });
  REQUIRE(at != process.threads.end());
  return *at;
}

std::vector<std::string> python_functions(const snapshot::Tables& tables,
                                          const snapshot::ThreadCapture& thread) {
  std::vector<std::string> names;
  for (const auto id : tables.stack(thread.samples.back().stack).frames) {
    const snapshot::Frame& frame = tables.frame(id);
    if (frame.kind == snapshot::FrameKind::kPython) {
      const std::string name(tables.text(frame.function));
      // The numbers of the interpreters depend on how many there were before.
      names.push_back(name.starts_with("<interpreter ") ? "<interpreter called here>"
                                                        : name.substr(name.rfind('.') + 1));
    }
  }
  return names;
}

bool is_merged(const snapshot::Tables& tables, const snapshot::ThreadCapture& thread) {
  return tables.stack(thread.samples.back().stack).merge == snapshot::MergeState::kMerged;
}

// A thread that runs may go on between the reading of its native and of its Python stack: a few
// readings are taken until they match.
void check(Victim& victim, const Told& told, unsigned minor) {
  constexpr int kMaxReadings = 10;
  const auto target = attach::LiveTarget::open(victim.pid());
  REQUIRE(target);
  snapshot::Tables tables;
  snapshot::ProcessCapture process;
  for (int i = 0; i < kMaxReadings; ++i) {
    process = {};
    process.pid = victim.pid();
    REQUIRE(stacks::collect_stacks(**target, {}, tables, process));
    if (minor < kFirstWithOwnGil || is_merged(tables, thread_of(process, told.busy))) {
      break;
    }
  }

  const auto& nested = thread_of(process, told.nested);
  CHECK(python_functions(tables, nested) ==
        std::vector<std::string>{"in_sub", "outer_sub", "<module>", "<interpreter called here>",
                                 "run_nested", "run", "_bootstrap_inner", "_bootstrap"});
  CHECK(is_merged(tables, nested));
  CHECK_FALSE(nested.holds_gil);
  CHECK_FALSE(nested.wants_gil);
  CHECK_FALSE(process.threads.front().holds_gil);
  if (minor >= kFirstWithOwnGil) {
    const auto& busy = thread_of(process, told.busy);
    CHECK(busy.holds_gil);
    CHECK(busy.gil == told.busy_interpreter);
    const auto functions = python_functions(tables, busy);
    REQUIRE_FALSE(functions.empty());
    CHECK(functions.front() == "spin_sub");
    CHECK(is_merged(tables, busy));
  }
}

}  // namespace

TEST_CASE("threads of several interpreters", "[python]") {
  std::size_t tried = 0;
  for (const test::Interpreter& interpreter : test::find_interpreters()) {
    if (interpreter.minor < 6 || interpreter.minor > 15 || interpreter.free_threaded) {
      continue;
    }
    INFO(interpreter.path);
    auto victim =
        Victim::start({interpreter.path, test::victim_script("python_subinterpreters.py")});
    REQUIRE(victim);
    const auto told = listen(*victim);
    if (!told) {
      continue;
    }
    ++tried;
    REQUIRE(victim->wait_syscall(SYS_read));
    REQUIRE(victim->wait_syscall(SYS_read, told->nested));
    check(*victim, *told, interpreter.minor);
  }
  if (tried == 0) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 with interpreters in ODDRANK_PYTHONS, ~/.pyenv, /usr/bin");
  }
}

}  // namespace oddrank
