// One kernel thread, several interpreters: an interpreter may call another one on the same thread,
// and each has a thread state of its own there. Here their frames become one row. Pure.
#pragma once

#include <vector>

#include "attach/address.h"
#include "cpython/python_process.h"

namespace oddrank::cpython {

// A thread state's frames, and where on the native stack its innermost evaluation stands; null if
// unknown, as up to 3.10.
struct OrderedThread {
  PythonThread thread;
  attach::Addr anchor{};
};

// Thread states of one target_tid become one thread, the newest interpreter's frames first; those
// whose tid is unknown stay alone. Stacks grow down: the lower its anchor, the newer an
// interpreter's frames are. Without anchors the states have to come newest interpreter first, as
// the runtime lists them: the older one called the newer.
std::vector<PythonThread> join_interpreters(std::vector<OrderedThread> all);

}  // namespace oddrank::cpython
