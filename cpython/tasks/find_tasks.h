// Finds the unfinished asyncio tasks.
//
// Up to 3.13 they are in a WeakSet of the module asyncio.tasks. From 3.14 on the tasks of the C
// module are members of lists: one for each thread state, and one for each interpreter (tasks whose
// thread has exited). A block of numbers in that module, `_AsyncioDebug`, has the offsets of the
// lists' heads. The WeakSet still holds the tasks of other implementations.
//
// Finds the connections of a task: where it waits, and those in variables of its coroutines. A
// server's task has its client's connection, whatever it waits for.
//
// Finds sockets, those of trio, transports of asyncio's own loops, and objects with one of these as
// an attribute: a StreamReader, a StreamWriter, a protocol. Not transports of uvloop and grpc.aio,
// which are no Python objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/objects/socket_search.h"
#include "cpython/python_memory.h"
#include "cpython/python_process.h"
#include "cpython/tasks/await_chain.h"
#include "cpython/thread_state.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxTasks = 4096;  // of a process

struct TaskLists {
  std::uint64_t interpreter_head = 0;  // offsets of the lists' heads
  std::uint64_t thread_head = 0;
  std::uint64_t node = 0;  // offset of the list node in a task
};

// Reads the block; nullopt if there is none: before 3.14, or if asyncio was not imported.
std::optional<TaskLists> find_task_lists(RemoteReader& reader, elf::ModuleMap& modules);

// Returns the task objects, each once, at most kMaxTasks. Some may have finished meanwhile.
std::vector<Addr> find_tasks(PythonMemory& memory,
                             const ThreadStates& states,
                             const std::optional<TaskLists>& lists);

inline constexpr std::size_t kMaxTaskOwners = 4096;  // of the tasks of one process (SocketSearch)

// Returns the sockets of one task. `search`: for tasks. `codes` must have the code objects of the
// chain's frames.
TaskSockets find_task_sockets(SocketSearch& search,
                              const CodeCache& codes,
                              const AwaitChain& chain);

}  // namespace oddrank::cpython
