// Sources: Lib/asyncio/base_events.py, runners.py and futures.py (_chain_future),
// Lib/concurrent/futures/_base.py and thread.py (_WorkItem.run) of 3.8 to 3.15. uvloop's loops are
// no Python code, but asyncio.Runner (from 3.11 on) has the task, too.
#include "cpython/tasks/task_threads.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/tasks/awaited_source.h"
#include "cpython/tasks/trio_tasks.h"

namespace oddrank::cpython {
namespace {

// A function that returns when a task or future has ended, and its variable that has it.
struct EndingFunction {
  std::string_view file;
  std::string_view name;  // without its class
  std::string_view variable;
};

constexpr auto kEndingFunctions = std::to_array<EndingFunction>({
    {"/asyncio/base_events.py", "run_until_complete", "future"},
    {"/asyncio/runners.py", "run", "task"},
    {"/concurrent/futures/_base.py", "result", "self"},
    {"/concurrent/futures/_base.py", "exception", "self"},
});

Addr awaited_by(PythonMemory& memory, const CodeCache& codes, const RawFrame& frame) {
  const CodeObject& code = codes.at(frame.code);
  const auto name = std::string_view(code.function).substr(code.function.rfind('.') + 1);
  const auto found = std::ranges::find_if(kEndingFunctions, [&](const EndingFunction& one) {
    return one.name == name && code.file.ends_with(one.file);
  });
  return found == kEndingFunctions.end() ? Addr{} : read_local(memory, frame, found->variable);
}

// Returns what stands for the job that the frame runs: its future, or what waits for it; null if it
// runs none.
Addr job_of(PythonMemory& memory, const CodeCache& codes, const RawFrame& frame) {
  const CodeObject& code = codes.at(frame.code);
  const bool runs = code.function == "run" || code.function.ends_with(".run");
  if (runs && code.file.ends_with("/concurrent/futures/thread.py")) {
    const Addr item = read_local(memory, frame, "self");
    return item == Addr{} ? Addr{} : read_attribute(memory, item, "future");
  }
  return runs && code.file.ends_with("/anyio/_backends/_asyncio.py")
             ? read_local(memory, frame, "future")
             : trio_task_of_worker(memory, code, frame);
}

}  // namespace

Addr loop_run_by(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  return code.file.ends_with("/asyncio/base_events.py") && code.function.ends_with("run_forever")
             ? read_local(memory, frame, "self")
             : Addr{};
}

TaskThreads::TaskThreads(PythonMemory& memory,
                         const CodeCache& codes,
                         const std::vector<SampledThread>& threads)
    : memory_(memory) {
  for (const SampledThread& thread : threads) {
    for (const RawFrame& frame : thread.frames) {
      if (const Addr object = awaited_by(memory, codes, frame); object != Addr{}) {
        by_object_.emplace(value_of(object), thread.target_tid);
      }
      if (const Addr job = job_of(memory, codes, frame); job != Addr{}) {
        workers_.emplace(value_of(job), thread.target_tid);
      }
      if (const Addr loop = loop_run_by(memory, codes.at(frame.code), frame); loop != Addr{}) {
        loops_.emplace(value_of(loop), thread.target_tid);
      }
      if (const Addr runner = trio_runner_of(memory, codes.at(frame.code), frame);
          runner != Addr{}) {
        loops_.emplace(value_of(runner), thread.target_tid);
        by_object_.emplace(value_of(read_slot_or_attribute(memory, runner, "main_task")),
                           thread.target_tid);
      }
    }
  }
}

pid_t TaskThreads::waiting_for(Addr task) const {
  const auto find = [this](Addr object) {
    const auto at = by_object_.find(value_of(object));
    return at == by_object_.end() ? 0 : at->second;
  };
  pid_t thread = find(task);
  if (thread == 0 && !by_object_.empty()) {
    for (const Addr object : objects_of_callback(memory_, task)) {
      thread = thread == 0 ? find(object) : thread;
    }
  }
  return thread;
}

pid_t TaskThreads::working_for(Addr task, const AwaitChain& chain, const CodeCache& codes) const {
  if (workers_.empty() || chain.frames.empty()) {
    return 0;
  }
  std::vector<Addr> jobs;
  if (chain.awaited != Addr{}) {
    jobs = objects_of_callback(memory_, chain.awaited);
    jobs.push_back(chain.awaited);
  } else if (codes.at(chain.frames.front().code).file.ends_with("/trio/_threads.py")) {
    jobs.push_back(task);
  }
  for (const Addr job : jobs) {
    if (const auto at = workers_.find(value_of(job)); at != workers_.end()) {
      return at->second;
    }
  }
  return 0;
}

// The loop is the first field of a task (Modules/_asynciomodule.c, FutureObj_HEAD), or an attribute
// of one that is implemented in Python, or of trio's.
pid_t TaskThreads::running(Addr task) const {
  if (loops_.empty()) {
    return 0;
  }
  const auto find = [this](Addr loop) {
    const auto at = loops_.find(value_of(loop));
    return at == loops_.end() ? 0 : at->second;
  };
  pid_t thread = find(memory_.pointer_or_null(task + memory_.layout().object.head));
  thread = thread != 0 ? thread : find(read_attribute(memory_, task, "_loop"));
  return thread != 0 ? thread : find(read_slot_or_attribute(memory_, task, "_runner"));
}

}  // namespace oddrank::cpython
