// The tasks and futures of which one `await` waits for several: those of asyncio.gather, wait,
// wait_for, as_completed, and of a TaskGroup.
//
// What is awaited then is a future of the library's own. That of gather() knows its members; for
// the others the library's function that awaits has them in a local variable. Other futures do not
// tell who will finish them: those of asyncio.shield, and of as_completed up to 3.12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/await_chain.h"
#include "cpython/code_object.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kAwaitedLimit = 256;  // of one task

using TaskNames = std::unordered_map<std::uint64_t, std::string>;  // address -> name

// The names of the tasks that have not ended, which `names` has; then "<Future>" and the like for
// futures of another kind, of which nobody knows whether they are done. Empty where the chain does
// not end in such a wait. `codes`: with those of the chain's frames.
std::vector<std::string> read_awaited_members(RemoteReader& reader,
                                              const Layout& layout,
                                              const CodeCache& codes,
                                              const AwaitChain& chain,
                                              const TaskNames& names);

// "Task-9" before "Task-10".
bool task_comes_before(const std::string& a, const std::string& b);

}  // namespace oddrank::cpython
