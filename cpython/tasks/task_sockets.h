// Finds the connections of an asyncio task: the one at which it waits, and those that its
// coroutines have at hand. A server's task has that of its client, whatever it waits for.
//
// Seen are sockets, transports of asyncio's own loops, and what has one of these as an attribute: a
// StreamReader, a StreamWriter, a protocol. Not seen: transports of uvloop and grpc.aio, which are
// no Python objects.
#pragma once

#include <cstddef>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"
#include "cpython/python_process.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

class TaskSocketSearch {
 public:
  // Borrows them. `codes` must have the code objects of the chains' frames.
  TaskSocketSearch(PythonMemory& memory, const CodeCache& codes) : memory_(memory), codes_(codes) {}

  TaskSockets of(const AwaitChain& chain);

 private:
  std::vector<int> of_frame(const RawFrame& frame);
  int descriptor(Addr value);

  PythonMemory& memory_;
  const CodeCache& codes_;
  std::size_t owners_ = 0;  // objects whose attributes were read
};

}  // namespace oddrank::cpython
