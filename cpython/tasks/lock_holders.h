// Finds which task has the asyncio.Lock that another one, or itself, waits for.
//
// Such a lock records no owner. But a coroutine in the body of `async with lock:` has the lock's
// __aexit__ on the stack of its frame, or that of the Condition whose lock it is. So has a
// coroutine that still waits for the lock, but that one is in acquire(); in the bodies of two, it
// waits for itself. The holder of a semaphore is known if it is the only one. A lock that was
// acquired without `async with` leaves no trace.
#pragma once

#include <vector>

#include "cpython/code_object.h"
#include "cpython/python_memory.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

// Sets AwaitChain::awaits of the chains that end in acquire() to the name of the only task that has
// the lock. `codes` must have the code objects of all frames.
void find_lock_holders(PythonMemory& memory,
                       const CodeCache& codes,
                       std::vector<AwaitChain>& chains);

}  // namespace oddrank::cpython
