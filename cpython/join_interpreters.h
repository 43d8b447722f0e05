// Joins the frames of several interpreters on one kernel thread: an interpreter may call another on
// the same thread, and each has its own thread state there. A pure function.
#pragma once

#include <vector>

#include "attach/address.h"
#include "cpython/python_process.h"

namespace oddrank::cpython {

// A thread state's frames, and the address of its innermost evaluation on the native stack; null if
// unknown (always up to 3.10).
struct OrderedThread {
  PythonThread thread;
  attach::Addr anchor{};
};

// Joins the thread states of each target_tid to one thread, the newest interpreter's frames first;
// those whose tid is unknown stay separate. Stacks grow down: the lower an interpreter's anchor,
// the newer its frames. Without anchors, the states must be in the runtime's order, newest
// interpreter first: the older one called the newer.
std::vector<PythonThread> join_interpreters(std::vector<OrderedThread> all);

}  // namespace oddrank::cpython
