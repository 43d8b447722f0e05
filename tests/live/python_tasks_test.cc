// asyncio tasks of real interpreters, compared with what they print themselves.
#include <sys/syscall.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "attach/live_target.h"
#include "base/split.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

using cpython::PythonProcess;
using cpython::PythonTask;
using cpython::TaskState;
using test::Interpreter;
using test::Victim;

std::vector<Interpreter> supported_interpreters() {
  auto all = test::find_interpreters();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Interpreter& one) { return one.minor < 8 || one.minor > 15; }),
            all.end());
  return all;
}

// A task and its frames, each a line as the victim writes it.
using Task = std::vector<std::string>;
using Tasks = std::map<std::string, Task>;

Tasks listen(Victim& victim) {
  Tasks told;
  Task* task = nullptr;
  for (std::string line; line != "ready";) {
    line = victim.wait_line("").value_or("ready");
    if (line.rfind("task ", 0) == 0) {
      task = &told[std::string(split_blanks(line).at(1))];
    }
    if (task != nullptr && line != "ready") {
      task->push_back(line);
    }
  }
  return told;
}

const char* word(TaskState state) {
  switch (state) {
    case TaskState::kWaits:
      return "waits";
    case TaskState::kRuns:
      return "runs";
    case TaskState::kNotStarted:
      return "new";
    default:
      return "?";
  }
}

Tasks as_told(const std::vector<PythonTask>& tasks) {
  Tasks lines;
  for (const PythonTask& task : tasks) {
    Task& of_task = lines[task.name];
    of_task.push_back("task " + task.name + " " + word(task.state) + " " +
                      (task.awaits.empty() ? "-" : task.awaits));
    for (const std::string& member : task.members) {
      of_task.push_back("member " + member);
    }
    for (const auto& frame : task.frames) {
      of_task.push_back("frame " + std::to_string(frame.line) + "\t" + frame.function + "\t" +
                        frame.file);
    }
  }
  return lines;
}

std::vector<PythonTask> read_tasks(pid_t pid) {
  const auto target = attach::LiveTarget::open(pid);
  REQUIRE(target);
  elf::ModuleMap modules(**target);
  const auto python = PythonProcess::find(**target, modules);
  REQUIRE(python);
  REQUIRE(python->threads(cpython::Locals::kNone));  // whose frames show for which tasks they wait
  auto tasks = python->tasks();
  REQUIRE(tasks);
  return *std::move(tasks);
}

}  // namespace

TEST_CASE("awaited objects agree with the interpreter", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.8 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    auto victim = Victim::start({interpreter.path, test::victim_script("python_tasks.py")});
    REQUIRE(victim);
    const Tasks told = listen(*victim);
    REQUIRE(told.size() >= 15);
    REQUIRE(victim->wait_syscall(SYS_read));
    const auto tasks = read_tasks(victim->pid());
    CHECK(tasks.size() == told.size());
    // asyncio.run() waits for the main task, and no thread waits for another one.
    for (const PythonTask& task : tasks) {
      CHECK(task.target_tid == (task.name == "main" ? victim->pid() : 0));
    }
    const Tasks read = as_told(tasks);
    for (const auto& [name, task] : told) {
      INFO(name);
      REQUIRE(read.contains(name));
      CHECK(read.at(name) == task);
    }
  }
}

TEST_CASE("a program without asyncio has no tasks", "[python]") {
  const auto interpreters = supported_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python 3.8 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const Interpreter& interpreter : interpreters) {
    INFO(interpreter.path);
    auto victim = Victim::start({interpreter.path, test::victim_script("python_stacks.py")});
    REQUIRE(victim);
    REQUIRE(victim->wait_line("ready"));
    CHECK(read_tasks(victim->pid()).empty());
  }
}

}  // namespace oddrank
