// Locals that are arrays: shape and type, compared with numpy and PyTorch themselves.
#include <sys/syscall.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "attach/live_target.h"
#include "base/split.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/torch_python.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

using cpython::Locals;
using cpython::PythonProcess;
using test::Victim;

// Importing torch takes seconds.
constexpr std::chrono::seconds kImports{60};

// Returns name -> text; empty if this Python has no arrays.
std::map<std::string, std::string> listen(Victim& victim) {
  std::map<std::string, std::string> told;
  while (true) {
    const std::string line = victim.wait_line("", Deadline::after(kImports)).value_or("none");
    const auto words = split(line, ' ');
    if (words.at(0) == "ready") {
      return told;
    }
    if (words.at(0) != "local") {
      return {};
    }
    const std::size_t text = words.at(0).size() + words.at(1).size() + 2;
    told[std::string(words.at(1))] = line.substr(text);
  }
}

std::map<std::string, std::string> read_locals(pid_t pid) {
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  REQUIRE(python);
  const auto threads = python->threads(Locals::kAll);
  REQUIRE(threads);
  std::map<std::string, std::string> locals;
  for (const auto& thread : *threads) {
    for (const auto& frame : thread.frames) {
      for (const auto& local : frame.locals) {
        locals[local.name] = local.value;
      }
    }
  }
  return locals;
}

}  // namespace

TEST_CASE("arrays are shown by their shape and type", "[python]") {
  std::set<std::string> paths;
  for (const test::Interpreter& interpreter : test::find_interpreters()) {
    if (interpreter.minor >= 6 && interpreter.minor <= 15) {
      paths.insert(interpreter.path);
    }
  }
  if (const auto torch = test::torch_python()) {
    paths.insert(*torch);
  }
  std::size_t checked = 0;
  for (const std::string& path : paths) {
    INFO(path);
    auto victim = Victim::start({path, test::victim_script("python_arrays.py")});
    REQUIRE(victim);
    const auto told = listen(*victim);
    if (told.empty()) {
      continue;
    }
    REQUIRE(victim->wait_syscall(SYS_read));
    auto locals = read_locals(victim->pid());
    for (const auto& [name, text] : told) {
      INFO(name);
      CHECK(locals[name] == text);
      ++checked;
    }
  }
  if (checked == 0) {
    ODDRANK_SKIP("neither numpy nor torch can be imported by any Python here");
  }
}

}  // namespace oddrank
