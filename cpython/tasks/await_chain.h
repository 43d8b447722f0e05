// Finds what an asyncio task waits for, from its coroutine inwards.
//
// A suspended frame keeps the object that it awaits on top of its value stack. The chain leads
// through coroutines, generators, asynchronous generators and the small objects between them, until
// it reaches a future, another task, or an object of an unknown type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"
#include "cpython/python_process.h"

namespace oddrank::cpython {

// Coroutines of one task; more need a changed recursion limit.
inline constexpr std::size_t kMaxAwaits = 1024;

struct AwaitChain {
  std::string name;  // "Task-7"; "" if unknown
  TaskState state = TaskState::kUnknown;
  std::vector<RawFrame> frames;  // innermost first; only the outermost if the task runs
  std::string awaits;            // see PythonTask
  Addr awaited{};                // the future that the innermost frame awaits; null if none
  Addr task{};                   // likewise the task
  bool cut = false;              // longer than kMaxAwaits: the innermost frames are missing
};

// Returns kUnknown and no frames if `task` is not a task (any more) or cannot be followed.
AwaitChain read_await_chain(PythonMemory& memory, Addr task);

using TaskNames = std::unordered_map<std::uint64_t, std::string>;  // address -> name

// Returns the names of the tasks, whose chains are `chains`. Of those with one name, all but the
// first get a number after it.
TaskNames tell_names_apart(const std::vector<Addr>& tasks, std::vector<AwaitChain>& chains);

// Returns the values on the stack of a frame that waits, outermost first; none if it is not valid.
std::vector<Addr> read_suspended_stack(PythonMemory& memory, const RawFrame& frame);

}  // namespace oddrank::cpython
