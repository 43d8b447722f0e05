// Finds the connections of a task: where it waits, and those in variables of its coroutines. A
// server's task has its client's connection, whatever it waits for.
//
// Finds sockets, those of trio, transports of asyncio's own loops, and objects with one of these as
// an attribute: a StreamReader, a StreamWriter, a protocol. Not transports of uvloop and grpc.aio,
// which are no Python objects.
#pragma once

#include <cstddef>

#include "cpython/code_object.h"
#include "cpython/objects/socket_search.h"
#include "cpython/python_process.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxTaskOwners = 4096;  // of the tasks of one process (SocketSearch)

// Returns the sockets of one task. `search`: for tasks. `codes` must have the code objects of the
// chain's frames.
TaskSockets find_task_sockets(SocketSearch& search,
                              const CodeCache& codes,
                              const AwaitChain& chain);

}  // namespace oddrank::cpython
