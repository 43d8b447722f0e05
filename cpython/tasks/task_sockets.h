// Finds the connections of an asyncio task: the one at which it waits, and those that its
// coroutines have at hand. A server's task has that of its client, whatever it waits for.
//
// Seen are sockets, transports of asyncio's own loops, and what has one of these as an attribute: a
// StreamReader, a StreamWriter, a protocol. Not seen: transports of uvloop and grpc.aio, which are
// no Python objects.
#pragma once

#include <cstddef>

#include "cpython/code_object.h"
#include "cpython/objects/socket_search.h"
#include "cpython/python_process.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxTaskOwners = 4096;  // of the tasks of one process (SocketSearch)

// `search`: for tasks. `codes` must have the code objects of the chain's frames.
TaskSockets find_task_sockets(SocketSearch& search,
                              const CodeCache& codes,
                              const AwaitChain& chain);

}  // namespace oddrank::cpython
