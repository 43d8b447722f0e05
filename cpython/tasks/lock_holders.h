// Finds which task has the lock that a task waits for.
//
// Locks of trio and anyio record their owner. An asyncio.Lock does not. But a coroutine in the body
// of `async with lock:` has the __aexit__ of the lock, or of its Condition, on the stack of its
// frame. A coroutine that still waits for the lock has it, too, but is in acquire(); inside of two
// such bodies, it waits for itself. The holder of a semaphore is known if it is the only one. A
// lock that was acquired without `async with` leaves no trace.
#pragma once

#include <vector>

#include "cpython/code_object.h"
#include "cpython/python_memory.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

// Sets AwaitChain::awaits of the chains that end in acquire() to the name of the only task that has
// the lock. `codes` must have the code objects of all frames; `names`: of all unfinished tasks.
void find_lock_holders(PythonMemory& memory,
                       const CodeCache& codes,
                       const TaskNames& names,
                       std::vector<AwaitChain>& chains);

}  // namespace oddrank::cpython
