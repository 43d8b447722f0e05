// Source: trio/_core/_run.py (run, Runner, Task), _traps.py, _parking_lot.py, _entry_queue.py and
// trio/_threads.py (to_thread_run_sync) of 0.35.
#include "cpython/tasks/trio_tasks.h"

#include <iterator>
#include <string_view>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/sets.h"

namespace oddrank::cpython {
namespace {

// Returns the Runner of a run in guest mode, if the frame is that of the function that waits for
// files; null for other frames.
Addr guest_runner_of(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  if (!code.function.ends_with("get_events") || !code.file.ends_with("/trio/_core/_run.py")) {
    return Addr{};
  }
  const Addr guest = read_local(memory, frame, "self");
  return guest == Addr{} ? Addr{} : read_slot_or_attribute(memory, guest, "runner");
}

bool is_about_waiting(std::string_view file) {
  return file.ends_with("/trio/_core/_traps.py") || file.ends_with("/trio/_core/_parking_lot.py");
}

}  // namespace

Addr trio_runner_of(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  return code.function == "run" && code.file.ends_with("/trio/_core/_run.py")
             ? read_local(memory, frame, "runner")
             : Addr{};
}

std::vector<Addr> find_trio_tasks(PythonMemory& memory,
                                  const CodeCache& codes,
                                  const std::vector<SampledThread>& threads,
                                  std::size_t limit) {
  std::vector<Addr> tasks;
  for (const SampledThread& thread : threads) {
    for (const RawFrame& frame : thread.frames) {
      const CodeObject& code = codes.at(frame.code);
      const Addr own = trio_runner_of(memory, code, frame);
      const Addr runner = own == Addr{} ? guest_runner_of(memory, code, frame) : own;
      if (runner != Addr{} && tasks.size() < limit) {
        const Addr set = read_slot_or_attribute(memory, runner, "tasks");
        const std::vector<Addr> found = read_set(memory, set, limit - tasks.size());
        tasks.insert(tasks.end(), found.begin(), found.end());
      }
    }
  }
  return tasks;
}

bool is_trios_own(const CodeCache& codes, const std::vector<RawFrame>& frames) {
  return !frames.empty() &&
         codes.at(frames.back().code).file.find("/trio/_core/") != std::string::npos;
}

void leave_out_trios_waits(const CodeCache& codes, std::vector<RawFrame>& frames) {
  auto last = frames.begin();
  while (last != frames.end() && is_about_waiting(codes.at(last->code).file)) {
    ++last;
  }
  frames.erase(frames.begin(), last);
}

Addr trio_task_of_worker(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  if (!code.function.ends_with("worker_fn") || !code.file.ends_with("/trio/_threads.py")) {
    return Addr{};
  }
  const auto tasks = read_list(memory, read_local(memory, frame, "task_register"), 1);
  return tasks.empty() ? Addr{} : tasks.front();
}

}  // namespace oddrank::cpython
