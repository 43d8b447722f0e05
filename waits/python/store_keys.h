// Threads that wait in a store of torch.distributed (TCPStore, FileStore, PrefixStore, ...): the
// key that they wait for. Their innermost Python frame calls a method of the store, and the keys
// are its arguments.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Sets ThreadWait::key if a thread is in such a call, and nothing else of the wait. `waits` has one
// entry for each of process.threads. Keys that C++ code waits for have no Python frame and stay
// unknown. The prefix of a PrefixStore is not included.
void read_store_keys(cpython::PythonSample& python,
                     const std::vector<attach::ThreadState>& states,
                     const snapshot::ProcessCapture& process,
                     std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
