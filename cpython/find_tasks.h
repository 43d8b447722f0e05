// Where asyncio keeps the tasks that have not ended.
//
// Up to 3.13 in a WeakSet of the module asyncio.tasks. From 3.14 on the tasks of the C module are
// members of lists, one a thread state and one an interpreter (for tasks whose thread has ended);
// where the heads are tells a block of numbers in that module, `_AsyncioDebug`. The WeakSet is
// still there for tasks of another make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"
#include "cpython/thread_state.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

inline constexpr std::size_t kTaskLimit = 4096;  // of a process

struct TaskLists {
  std::uint64_t interpreter_head = 0;  // offsets of the lists' heads
  std::uint64_t thread_head = 0;
  std::uint64_t node = 0;  // of a task's member
};

// nullopt: no such block, as before 3.14 or where asyncio was not imported.
std::optional<TaskLists> find_task_lists(RemoteReader& reader, elf::ModuleMap& modules);

// The task objects, each once, at most kTaskLimit. Some may have ended since.
std::vector<Addr> find_tasks(RemoteReader& reader,
                             const Layout& layout,
                             const ThreadStates& states,
                             const std::optional<TaskLists>& lists);

}  // namespace oddrank::cpython
