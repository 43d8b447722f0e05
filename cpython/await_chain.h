// What an asyncio task waits for: its coroutine, what that awaits, and so on inwards.
//
// A suspended frame keeps the object that it awaits on top of its value stack. So the chain goes
// through coroutines, generators, asynchronous generators and the small objects between them, until
// it comes to a future, another task, or an object of a type that is not known here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/python_process.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kAwaitLimit = 256;  // coroutines of one task

struct AwaitChain {
  std::string name;  // "Task-7"; "" if unknown
  TaskState state = TaskState::kUnknown;
  std::vector<RawFrame> frames;  // innermost first; of a task that runs the outermost only
  std::string awaits;            // see PythonTask
  Addr awaited{};                // the future that the innermost awaits; null if it is none
};

// kUnknown and no frames where `task` is no task (any more) or cannot be followed.
AwaitChain read_await_chain(RemoteReader& reader, const Layout& layout, Addr task);

}  // namespace oddrank::cpython
