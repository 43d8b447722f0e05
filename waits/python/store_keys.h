// Threads that wait in a store of torch.distributed (TCPStore, FileStore, PrefixStore, ...): the
// key that they wait for. Their innermost Python frame calls a method of the store, and the keys
// are its arguments.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Sets ThreadWait::key if a thread is in such a call, and nothing else of the wait. Keys that C++
// code waits for have no Python frame and stay unknown. The prefix of a PrefixStore is not
// included.
void read_store_keys(PythonWaits& all);

}  // namespace oddrank::waits
