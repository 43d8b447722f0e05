// Threads that wait for a device, even if they use CPU to do so. Works on plain data, after the
// frames have their names.
//
// The kernel shows a wait for a device only if the thread sleeps in the device's file. Drivers
// mostly wait in user space instead: they poll a word of memory that the device writes, yield the
// CPU in between (sched_yield), or sleep on a clock, an event counter or a pipe of their own. The
// driver function that the program called shows what they do there (waits/device_calls.h).
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Sets wait.on to kDevice if the thread's frames show that it waits for its device, and notes the
// call. Leaves a wait alone if its other side is known: a lock's owner, a connection's peer, a
// child, a file, the GIL, a debugger. Calls that need not wait, queries, and frames of a driver
// without names count only under the conditions of DeviceCallKind. The last two are heuristic: the
// thread must be there in every sample, at least two.
void name_device_wait(const snapshot::ProcessCapture& process,
                      const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
