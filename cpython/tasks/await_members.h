// Finds the members of an `await` that waits for several tasks and futures: asyncio.gather, wait,
// wait_for, as_completed, and a TaskGroup; also one of anyio, and a nursery of trio.
//
// Such an `await` waits for a future that the library made (trio: for none). The future of gather()
// has a list of its members; for the others, the list is in a local variable of the library's
// function. Members of asyncio.shield, and of as_completed up to 3.12, cannot be found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/python_memory.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxAwaited = 4096;  // of one task

struct AwaitedMembers {
  // Unfinished tasks first, then "<Future>" and the like for other futures, done or not.
  std::vector<std::string> names;
  bool cut = false;  // there are more than the limit
};

// Returns whether the file is of asyncio, trio or anyio.
bool is_of_event_library(std::string_view file);

// Reads at most `limit` members. Unfinished tasks are those in `names`. Returns none if the chain
// does not end in such a wait. `codes` must have the code objects of the chain's frames.
AwaitedMembers read_awaited_members(PythonMemory& memory,
                                    const CodeCache& codes,
                                    const AwaitChain& chain,
                                    const TaskNames& names,
                                    std::size_t limit = kMaxAwaited);

// Compares names so that "Task-9" comes before "Task-10".
bool task_comes_before(const std::string& a, const std::string& b);

}  // namespace oddrank::cpython
