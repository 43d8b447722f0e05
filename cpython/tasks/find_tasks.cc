// Sources: Modules/_asynciomodule.c of 3.14 (Py_AsyncioModuleDebugOffsets, register_task);
// Lib/asyncio/tasks.py of 3.8 to 3.14.
#include "cpython/tasks/find_tasks.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/base_name.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/sets.h"
#include "cpython/objects/types.h"
#include "cpython/tasks/await_members.h"

namespace oddrank::cpython {

namespace {

constexpr std::size_t kNumbers = 13;  // 64-bit numbers in the block; the same in 3.14 and 3.15
constexpr std::uint64_t kMaxOffset = 4U << 20;  // no struct is longer

class TaskSet {
 public:
  bool full() const { return tasks_.size() >= kMaxTasks; }
  void add(Addr task);
  std::vector<Addr> take() { return std::move(tasks_); }

 private:
  std::vector<Addr> tasks_;
  std::unordered_set<std::uint64_t> seen_;
};

void TaskSet::add(Addr task) {
  if (task != Addr{} && !full() && seen_.insert(value_of(task)).second) {
    tasks_.push_back(task);
  }
}

// Adds the objects that a set of weak references leads to.
void add_weak_set(PythonMemory& memory, Addr set, TaskSet& tasks) {
  const Layout& layout = memory.layout();
  const std::vector<Addr> references = read_set(memory, set, kMaxTasks);
  std::vector<PythonMemory::Range> ranges;
  ranges.reserve(references.size());
  for (const Addr reference : references) {
    ranges.push_back({reference, layout.object.weakref_target + sizeof(std::uint64_t)});
  }
  memory.prefetch(ranges);
  for (const Addr reference : references) {
    if (type_name(memory, reference).starts_with("weakref")) {
      tasks.add(memory.pointer_or_null(reference + layout.object.weakref_target));
    }
  }
}

// Adds the tasks of a ring, which begins and ends at its head.
void add_ring(RemoteReader& reader, const TaskLists& lists, Addr head, TaskSet& tasks) {
  Addr node = reader.pointer_or_null(head);
  for (std::size_t i = 0; i < kMaxTasks && node != Addr{} && node != head; ++i) {
    tasks.add(Addr{value_of(node) - lists.node});
    node = reader.pointer_or_null(node);
  }
}

bool may_have_asyncio(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("_asyncio.") || name.starts_with("libpython") ||
         name.starts_with("python");
}

}  // namespace

std::optional<TaskLists> find_task_lists(RemoteReader& reader, elf::ModuleMap& modules) {
  const std::vector<elf::Module>& all = modules.modules();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0 && !may_have_asyncio(all[i].path)) {
      continue;
    }
    const auto image = modules.image_of(all[i]);
    const auto bias = modules.load_bias(all[i]);
    const auto section = image ? (*image)->section(".AsyncioDebug") : std::nullopt;
    if (!section || !bias) {
      continue;
    }
    const auto block =
        reader.value<std::array<std::uint64_t, kNumbers>>(Addr{section->address + *bias});
    if (!block || std::any_of(block->begin(), block->end(),
                              [](std::uint64_t number) { return number > kMaxOffset; })) {
      continue;
    }
    // The numbers are, for a task, its size, five fields and the list node; for an interpreter, its
    // size and the head; for a thread state, its size, two fields and the head.
    return TaskLists{(*block)[8], (*block)[12], (*block)[6]};
  }
  return std::nullopt;
}

std::vector<Addr> find_tasks(PythonMemory& memory,
                             const ThreadStates& states,
                             const std::optional<TaskLists>& lists) {
  TaskSet tasks;
  for (const InterpreterRow& interpreter : states.interpreters) {
    const Addr module = find_module(memory, interpreter.address, "asyncio.tasks");
    for (const std::string_view name : {"_all_tasks", "_scheduled_tasks"}) {
      const Addr weak = module == Addr{} ? module : find_global(memory, module, name);
      const Addr set = weak == Addr{} ? weak : read_attribute(memory, weak, "data");
      if (set != Addr{}) {
        add_weak_set(memory, set, tasks);
      }
    }
    if (lists) {
      add_ring(memory, *lists, interpreter.address + lists->interpreter_head, tasks);
    }
  }
  for (const ThreadStateRow& thread : states.threads) {
    if (lists) {
      add_ring(memory, *lists, thread.address + lists->thread_head, tasks);
    }
  }
  return tasks.take();
}

TaskSockets find_task_sockets(SocketSearch& search,
                              const CodeCache& codes,
                              const AwaitChain& chain) {
  TaskSockets sockets;
  std::set<int> kept;
  bool in_library = true;  // so far, outwards
  const std::vector<std::vector<int>> by_frame = search.by_frame(chain.frames);
  for (std::size_t i = 0; i < by_frame.size(); ++i) {
    const std::vector<int>& found = by_frame[i];
    in_library = in_library && is_of_event_library(codes.at(chain.frames[i].code).file);
    if (in_library && sockets.awaited < 0 && !found.empty()) {
      sockets.awaited = found.front();
    }
    kept.insert(found.begin(), found.end());
  }
  sockets.kept.assign(kept.begin(), kept.end());
  sockets.kept.resize(std::min(kept.size(), kMaxTaskSockets));
  return sockets;
}

}  // namespace oddrank::cpython
